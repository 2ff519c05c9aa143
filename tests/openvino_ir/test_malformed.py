"""Files that aren't IR: one clear line each, never a traceback, never memory by the gigabyte."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from backedge.convert.openvino.markup import DEEPEST
from backedge.convert.openvino.read import read
from backedge.convert.openvino.write import write
from backedge.passes.errors import InvalidModel, Unsupported

from .helpers import load_everything
from .models import MODELS, saved
from .texts import ADD, IF, LOOP, WEIGHTS, add, changed, constant, edges, net, parameter, placed, port, result

Edit = Callable[[str], str]


def swap(old: str, new: str) -> Edit:
    return lambda text: changed(text, old, new)


def every(old: str, new: str) -> Edit:
    return lambda text: changed(text, old, new, -1)


def without(start: str, end: str) -> Edit:
    """Take out what stands from `start` to the next `end`, both included."""

    def edit(text: str) -> str:
        begin = text.index(start)
        return text[:begin] + text[text.index(end, begin) + len(end) :]

    return edit


ENTITY = '<?xml version="1.0"?>\n<!DOCTYPE net [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
EXTERNAL = '<?xml version="1.0"?>\n<!DOCTYPE net SYSTEM "file:///etc/passwd">'
DEEP = net("<a>" * 100_000 + "</a>" * 100_000, "")

BROKEN_ADD: dict[str, tuple[Edit, str]] = {
    "nothing": (lambda text: "", "isn't well-formed XML: no element found"),
    "no XML": (lambda text: "ONNX or so", "isn't well-formed XML: syntax error"),
    "cut off": (lambda text: text[: len(text) // 2], "isn't well-formed XML"),
    "more behind": (lambda text: text + text, "isn't well-formed XML"),
    "undeclared entity": (swap('name="sum"', 'name="&b;"'), "isn't well-formed XML: undefined entity"),
    "entities": (swap('<?xml version="1.0"?>', ENTITY), "declares a document type or entities"),
    "external entity": (swap('<?xml version="1.0"?>', EXTERNAL), "declares a document type or entities"),
    "character 0": (swap('name="sum"', 'name="\0"'), "isn't well-formed XML"),
    "reference to character 0": (swap('name="sum"', 'name="&#0;"'), "isn't well-formed XML"),
    "too deep": (lambda text: DEEP, f"elements nest more than {DEEPEST} deep"),
    "another root": (every("net", "mesh"), "isn't OpenVINO IR: its root is <mesh>, not <net>"),
    "version 9": (swap('version="11"', 'version="9"'), "is IR of version 9; versions 10 and 11 can be read"),
    "version 12": (swap('version="11"', 'version="12"'), "is IR of version 12"),
    "no version": (swap(' version="11"', ""), "<net> has no version"),
    "version eleven": (swap('version="11"', 'version="eleven"'), "version eleven isn't an integer"),
    "id twice": (swap('<layer id="3"', '<layer id="2"'), "layer 2 y (Result): an earlier layer has the same id"),
    "id missing": (swap('<layer id="2"', "<layer"), "layer '?' sum (Add): <layer> has no id"),
    "id no number": (swap('<layer id="2"', '<layer id="two"'), "layer two sum (Add): layer id two isn't an integer"),
    "id negative": (swap('<layer id="2"', '<layer id="-2"'), "layer id '-2' is out of range"),
    "id of other digits": (swap('<layer id="2"', '<layer id="²"'), "isn't an integer"),
    "type missing": (swap(' type="Add"', ""), "layer 2 sum ('?'): <layer> has no type"),
    "opset missing": (swap('type="Add" version="opset1"', 'type="Add"'), "layer 2 sum (Add): <layer> has no version"),
    "from nowhere": (swap('from-layer="1"', 'from-layer="7"'), "edge from 7:0 to 2:1: there is no layer 7"),
    "to nowhere": (swap('to-layer="3"', 'to-layer="7"'), "edge from 2:2 to 7:0: there is no layer 7"),
    "from no port": (swap('from-port="2"', 'from-port="3"'), "layer 2 sum (Add) has no output port 3"),
    "to no port": (swap('to-layer="2" to-port="1"', 'to-layer="2" to-port="2"'), "sum (Add) has no input port 2"),
    "from a Result": (swap('from-layer="1"', 'from-layer="3"'), "layer 3 y (Result) has no output port 0"),
    "to a Parameter": (swap('to-layer="3"', 'to-layer="0"'), "layer 0 x (Parameter) has no input port 0"),
    "two into one": (swap('to-port="1"', 'to-port="0"'), "another edge leads to the same port of layer 2 sum (Add)"),
    "no edge": (without('<edge from-layer="1"', "/>"), "layer 2 sum (Add): no edge leads to its input port 1"),
    "no edges": (without("<edges>", "</edges>"), "no edge leads to its input port 0"),
    "half an edge": (swap(' to-port="1"', ""), "<edge> has no to-port"),
    "edge without from-port": (swap(' from-port="2"', ""), "an edge without from-port"),
    "cycle": (swap('from-layer="1" from-port="0"', 'from-layer="2" from-port="2"'), "cycle in graph"),
    "ports of one id": (swap('port id="1"', 'port id="0"'), "two of its ports have the same id"),
    "port without id": (swap('<port id="1"', "<port"), "layer 2 sum (Add): <port> has no id"),
    "unknown precision": (swap('id="2" precision="FP32"', 'id="2" precision="FP99"'), "unknown element type FP99"),
    "no precision": (swap('id="2" precision="FP32"', 'id="2"'), "its output port 2 has no precision"),
    "dimension -2": (swap("<dim>2</dim>", "<dim>-2</dim>"), "dimension '-2' is out of range"),
    "dimension too long": (swap("<dim>2</dim>", f"<dim>{'9' * 5000}</dim>"), "longer than 100 characters"),
    "dimension too big": (swap("<dim>2</dim>", f"<dim>{2**63}</dim>"), "is out of range"),
    "dimension of words": (swap("<dim>2</dim>", "<dim>two</dim>"), "dimension two isn't an integer"),
    "no dimension": (swap("<dim>2</dim>", "<dim/>"), "dimension '' isn't an integer"),
    "Parameter of no type": (swap(' element_type="f32"', ""), "layer 0 x (Parameter): its <data> has no element_type"),
    "Parameter without data": (without("<data ", "/>"), "layer 0 x (Parameter): its <data> has no element_type"),
    "Parameter of odd shape": (swap('data shape="2"', 'data shape="2;3"'), "dimension '2;3' isn't an integer"),
    "Parameter of two ports": (swap("</output>", port(1) + "</output>"), "has no input port and one output port"),
    "Result of two ports": (
        swap("</input></layer></layers>", port(1) + "</input></layer></layers>"),
        "a Result has one",
    ),
    "attribute of odd kind": (swap('auto_broadcast="numpy"', 'axis="one"'), "axis is one, not an integer"),
    "attribute too long": (swap('auto_broadcast="numpy"', f'axis="{"1" * 9999}"'), "not an integer"),
    "truth of odd kind": (swap('auto_broadcast="numpy"', 'keep_dims="2"'), "keep_dims is 2, not true or false"),
    "list of odd kind": (swap('auto_broadcast="numpy"', 'strides="1,,2"'), "not a list of integers"),
    "constant behind the end": (swap('offset="0"', 'offset="10"'), "bytes 10 to 18 aren't in"),
    "constant far behind": (swap('offset="0"', f'offset="{2**63 - 1}"'), "aren't in"),
    "constant at -1": (swap('offset="0"', 'offset="-1"'), "offset '-1' is out of range"),
    "constant too small": (swap('size="8"', 'size="4"'), "4 bytes where float32[2] takes 8"),
    "constant too large": (swap('size="8"', 'size="12"'), "12 bytes where float32[2] takes 8"),
    "constant of negative size": (swap('size="8"', 'size="-8"'), "size '-8' is out of range"),
    "constant without offset": (swap(' offset="0"', ""), "layer 1 c (Const): its <data> has no offset"),
    "constant of odd type": (swap('element_type="f32" shape', 'element_type="f33" shape'), "unknown element type f33"),
    "constant of no type": (swap('element_type="f32" shape', 'element_type="dynamic" shape'), "unknown type or shape"),
    "constant of no shape": (swap('shape="2" offset', 'shape="?" offset'), "unknown type or shape"),
    "constant of 10**17": (swap('shape="2" offset', f'shape="{10**17}" offset'), "8 bytes where float32[1000000"),
    "constant of 10**54": (swap('shape="2" offset', f'shape="{",".join([str(10**18)] * 3)}" offset'), "no array can"),
    "constant of no rows": (swap('shape="2" offset', f'shape="0,{2**62},{2**62}" offset'), "no array can have"),
    "constant of 65 axes": (swap('shape="2" offset', f'shape="{",".join("1" * 65)}" offset'), "no array can have"),
    "string constant": (swap('element_type="f32" shape', 'element_type="string" shape'), "2 strings need a header"),
}

BROKEN_LOOP: dict[str, tuple[Edit, str]] = {
    "no back edge source": (
        swap('from-layer="5" to-layer="1"', 'from-layer="9" to-layer="1"'),
        "back edge from 9 to 1",
    ),
    "no back edge target": (
        swap('from-layer="5" to-layer="1"', 'from-layer="5" to-layer="9"'),
        "back edge from 5 to 9",
    ),
    "back edge to a Result": (swap('from-layer="5" to-layer="1"', 'from-layer="5" to-layer="4"'), "from a Result to a"),
    "back edge from a node": (swap('from-layer="5" to-layer="1"', 'from-layer="3" to-layer="1"'), "from a Result to a"),
    "back edge to the counter": (
        swap('from-layer="5" to-layer="1"', 'from-layer="5" to-layer="0"'),
        "sliced or counts",
    ),
    "back edge to nothing": (swap(' to-layer="1"/></back_edges>', "/></back_edges>"), "<edge> has no to-layer"),
    "map of no layer": (swap('id="2" internal_layer_id="1"', 'id="2" internal_layer_id="7"'), "no Parameter of its"),
    "map of a node": (swap('id="2" internal_layer_id="1"', 'id="2" internal_layer_id="3"'), "no Parameter of its"),
    "map of no Result": (swap('id="3" internal_layer_id="5"', 'id="3" internal_layer_id="3"'), "no Result of its body"),
    "map of no port": (
        swap('external_port_id="2"', 'external_port_id="9"'),
        "port 9, which isn't among its input ports",
    ),
    "map of port -2": (swap('external_port_id="2"', 'external_port_id="-2"'), "port -2, which isn't among its input"),
    "map without a port": (swap(' external_port_id="2"', ""), "<input> has no external_port_id"),
    "map of an odd axis": (swap('axis="0"', 'axis="first"'), "axis first isn't an integer"),
    "no condition": (without('<output external_port_id="-1"', "/>"), "its port map has no execution_condition"),
    "odd purpose": (swap("current_iteration", "counting"), "no port, but the purpose 'counting'"),
    "no counter": (
        without('<input external_port_id="-1"', "/>"),
        "its body has 2 Parameters, its port map has inputs for 1",
    ),
    "Parameter fed twice": (swap('id="-1" internal_layer_id="0"', 'id="-1" internal_layer_id="1"'), "Parameter twice"),
    "output made twice": (swap('external_port_id="4"', 'external_port_id="3"'), "names the same output port twice"),
    "output not made": (without('<output external_port_id="3"', "/>"), "it has 2 outputs, its port map makes 1"),
    "input not used": (lambda text: changed(without('<input external_port_id="2"', "/>")(text), "x", "x"), "its body"),
    "no body": (without("<body>", "</body>"), "layer 3 loop (Loop): it has no <body>"),
    "two bodies": (swap("</body>", "</body><body><layers/></body>"), "it has two elements <body>"),
    "broken body": (
        swap('<layer id="5" name="next"', '<layer id="4" name="next"'),
        "layer 3 loop (Loop): layer 4 next",
    ),
    "Add with a body": (swap('type="Loop"', 'type="Add"'), "it can't have a <body>"),
    "TensorIterator with purposes": (swap('type="Loop"', 'type="TensorIterator"'), "no port, but the purpose"),
}

BROKEN_IF: dict[str, tuple[Edit, str]] = {
    "no else body": (without("<else_body>", "</else_body>"), "layer 2 choice (If): it has no <else_body>"),
    "no then body": (without("<then_body>", "</then_body>"), "it has no <then_body>"),
    "If with a body": (every("else_body", "body"), "it can't have a <body>"),
    "no else map": (
        without("<else_port_map>", "</else_port_map>"),
        "its body has 1 Parameters, its port map has inputs for 0",
    ),
}

BROKEN = {
    name: (text, *case)
    for text, cases in ((ADD, BROKEN_ADD), (LOOP, BROKEN_LOOP), (IF, BROKEN_IF))
    for name, case in cases.items()
}


def refused(path: Path) -> str:
    """The message with which a file is refused."""
    with pytest.raises(InvalidModel) as caught:
        read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert len(message.splitlines()) == 1
    assert len(message) < 500
    return message


@pytest.mark.parametrize("name", BROKEN)
def test_refused(name: str, tmp_path: Path) -> None:
    text, edit, message = BROKEN[name]
    assert message in refused(placed(edit(text), tmp_path))


def test_the_texts_themselves_are_fine(tmp_path: Path) -> None:
    for text in (ADD, LOOP, IF):
        read(placed(text, tmp_path))


def test_no_such_files(tmp_path: Path) -> None:
    assert "can't be read: No such file or directory" in refused(tmp_path / "model.xml")
    assert "can't be read: Is a directory" in refused(tmp_path)
    assert "model.bin, can't be read: No such file or directory" in refused(placed(ADD, tmp_path, weights=None))
    assert "bytes 0 to 8 aren't in" in refused(placed(ADD, tmp_path, weights=b""))


def test_invalid_utf8(tmp_path: Path) -> None:
    assert "isn't well-formed XML" in refused(
        placed(changed(ADD, "sum", "@@").encode().replace(b"@@", b"\xff\xfe"), tmp_path)
    )
    assert "isn't well-formed XML" in refused(placed(ADD.replace("?>", ' encoding="klingon"?>', 1).encode(), tmp_path))


def test_long_names_make_no_long_messages(tmp_path: Path) -> None:
    text = changed(ADD, 'name="sum"', f'name="{"n" * 10_000}&#10;"')
    assert "nnn..." in refused(placed(changed(text, 'port id="1"', 'port id="0"'), tmp_path))


def test_long_cycles_are_one_line(tmp_path: Path) -> None:
    count = 5000
    layers = "".join(add(k, f"a\n{k}") for k in range(count))
    ends = [((k - 1) % count, 2, k, slot) for k in range(count) for slot in (0, 1)]
    assert "cycle" in refused(placed(net(layers, edges(*ends)), tmp_path))


def test_nothing_absurd_is_allocated(tmp_path: Path) -> None:
    """Sizes are held against the file before anything is made of them."""
    sizes = [f"{10**18}", "4294967296", f"{2**31},{2**31}", "1000000000"]
    tracemalloc.start()
    try:
        for kind in ("f32", "i4", "u1", "string", "boolean"):
            for shape in sizes:
                layers = parameter(0, "x") + constant(1, "c", shape, 0, 8, kind) + result(2, "y")
                refused(placed(net(layers, edges((1, 0, 2, 0))), tmp_path))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def survives(path: Path, target: Path) -> bool:
    """Whether a damaged model can be read; loads and writes all of it then. Anything but a clear refusal fails."""
    try:
        graph = read(path)
        load_everything(graph)
        write(graph, target)
    except (InvalidModel, Unsupported):
        return False
    return True


@pytest.mark.parametrize("name", ["nested_loops", "branches", "tensor_iterator", "strings", "info", "attributes"])
def test_random_damage(name: str, tmp_path: Path) -> None:
    """Cut off, bits turned, pieces taken out or doubled, lines swapped: read, or refused, and nothing else."""
    source = saved(MODELS[name](), tmp_path / "source.xml")
    xml, weights = source.read_bytes(), source.with_suffix(".bin").read_bytes()
    chance = random.Random(name)
    outcomes = {True: 0, False: 0}
    for number in range(250):
        damaged, damaged_weights = bytearray(xml), bytearray(weights)
        place = chance.randrange(len(xml))
        kind = number % 6
        if kind == 0:
            del damaged[place:]
        elif kind == 1:
            for _ in range(chance.randrange(1, 4)):
                damaged[chance.randrange(len(xml))] ^= 1 << chance.randrange(8)
        elif kind == 2:
            del damaged[place : place + chance.randrange(1, 200)]
        elif kind == 3:
            lines = xml.splitlines(keepends=True)
            first, second = chance.randrange(len(lines)), chance.randrange(len(lines))
            lines[first], lines[second] = lines[second], lines[first]
            damaged = bytearray(b"".join(lines))
        elif kind == 4:
            digits = [index for index, byte in enumerate(xml) if 48 <= byte <= 57]
            damaged[chance.choice(digits)] = chance.choice(b"0123456789-")
        elif damaged_weights:
            spot = chance.randrange(len(damaged_weights))
            if chance.random() < 0.3:
                del damaged_weights[spot:]
            else:
                damaged_weights[spot] ^= 1 << chance.randrange(8)
        path = placed(bytes(damaged), tmp_path, bytes(damaged_weights))
        outcomes[survives(path, tmp_path / "ours.xml")] += 1
    assert min(outcomes.values()) > 10, outcomes


def test_weights_are_not_read_as_text(tmp_path: Path) -> None:
    """Any bytes are numbers of some kind."""
    for kind, precision, size in (("boolean", "BOOL", 2), ("f8e4m3", "F8E4M3", 2), ("u3", "U3", 3), ("u6", "U6", 3)):
        layers = constant(0, "c", "2", 0, size, kind, precision) + result(1, "y", 2)
        path = placed(net(layers, edges((0, 0, 1, 0))), tmp_path, b"\xff\x80\x7f")
        (array,) = load_everything(read(path))
        assert array.shape == (2,)
        assert survives(path, tmp_path / "ours.xml")
    assert len(WEIGHTS) == 17
