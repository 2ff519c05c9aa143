"""IR files with something in them changed, at random: raised and lowered to ONNX, or refused in one line."""

from __future__ import annotations

import random
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest
from backedge.convert.files import load, to_dialect
from backedge.convert.format import FORMATS
from backedge.passes.errors import BackedgeError, Unsupported

from .conftest import Made

VALUES = ["", "-1", "0", "1", "7", "-5", "1e30", "nan", "abc", "true", "1,2", "-1,-1", "99999999999", "3.5", "f32", "?"]
PRECISIONS = ["FP32", "I64", "I32", "BOOL", "U8", "FP16", "STRING"]
Root = ElementTree.Element


def _attribute(root: Root, chance: random.Random) -> None:
    data = chance.choice([item for item in root.iter("data") if item.attrib])
    name = chance.choice(sorted(data.attrib))
    kind = chance.randrange(3)
    if kind == 0:
        del data.attrib[name]
    else:
        data.attrib[name] = data.attrib[name][:-1] if kind == 1 else chance.choice(VALUES)


def _dimension(root: Root, chance: random.Random) -> None:
    chance.choice(list(root.iter("dim"))).text = chance.choice(["0", "1", "2", "5", "-1", "1000"])


def _edge(root: Root, chance: random.Random) -> None:
    one, other = (chance.choice(list(root.iter("edge"))) for _ in range(2))
    name = chance.choice(sorted(one.attrib))
    one.attrib[name] = other.attrib.get(name, "0")


def _precision(root: Root, chance: random.Random) -> None:
    chance.choice([port for port in root.iter("port") if port.get("precision")]).set(
        "precision", chance.choice(PRECISIONS)
    )


def _layer(root: Root, chance: random.Random) -> None:
    one, other = (chance.choice(list(root.iter("layer"))) for _ in range(2))
    one.set("type", str(other.get("type")))


def _gone(root: Root, chance: random.Random) -> None:
    layers = chance.choice(list(root.iter("layers")))
    layers.remove(chance.choice(list(layers)))


def _port(root: Root, chance: random.Random) -> None:
    ports = chance.choice([*root.iter("input"), *root.iter("output")])
    if len(ports):
        ports.remove(chance.choice(list(ports)))


CHANGES: list[Callable[[Root, random.Random], None]] = [
    *[_attribute] * 4,
    _dimension,
    _edge,
    _precision,
    _layer,
    _gone,
    _port,
]


def mutated(source: Path, target: Path, chance: random.Random) -> None:
    """One to three changes; what has nothing to change stays."""
    tree = ElementTree.parse(source)
    for _ in range(chance.choice([1, 1, 2, 3])):
        try:
            chance.choice(CHANGES)(tree.getroot(), chance)
        except IndexError:
            continue
    tree.write(target)
    shutil.copy(source.with_suffix(".bin"), target.with_suffix(".bin"))


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "source", ["built_corners", "built_recurrent", "built_detection", "built_vision", "built_loops"]
)
def test_mutations(made: Made, tmp_path: Path, source: str) -> None:
    folder, _ = made(source)
    files = sorted(folder.glob("*.xml"))
    chance = random.Random(source)
    refused = 0
    for _ in range(150):
        path = chance.choice(files)
        mutated(path, tmp_path / "m.xml", chance)
        try:
            to_dialect(load(tmp_path / "m.xml"), FORMATS["onnx"], 21)
        except BackedgeError as error:
            refused += 1
            assert "\n" not in str(error), path.name
    assert 30 < refused < 150


BLOCKS = """<net name="m" version="11"><layers>
    <layer id="0" name="x" type="Parameter" version="opset1"><data shape="?,?,?,?" element_type="f32" />
        <output><port id="0" precision="FP32"><dim>-1</dim><dim>-1</dim><dim>-1</dim><dim>-1</dim></port></output>
    </layer>
    <layer id="1" name="y" type="SpaceToDepth" version="opset1">
        <data block_size="{}" mode="depth_first" />
        <input><port id="0" precision="FP32" /></input>
        <output><port id="1" precision="FP32"><dim>-1</dim><dim>-1</dim><dim>-1</dim><dim>-1</dim></port></output>
    </layer>
    <layer id="2" name="r" type="Result" version="opset1"><input><port id="0" precision="FP32" /></input></layer>
</layers><edges>
    <edge from-layer="0" from-port="0" to-layer="1" to-port="0" />
    <edge from-layer="1" from-port="1" to-layer="2" to-port="0" />
</edges></net>"""


def test_numbers_that_64_bits_do_not_hold(tmp_path: Path) -> None:
    """The square of a block's size, which the number of channels is multiplied by."""
    path = tmp_path / "m.xml"
    path.write_text(BLOCKS.format(2))
    assert to_dialect(load(path), FORMATS["onnx"], 18).nodes
    path.write_text(BLOCKS.format(2**63 - 1))
    with pytest.raises(Unsupported, match=r"SpaceToDepth.*it takes larger numbers than there are"):
        to_dialect(load(path), FORMATS["onnx"], 18)
