"""Damaged and hostile documents: each is read, or refused in one line; nothing crashes, hangs or fills the memory."""

from __future__ import annotations

import copy
import json
import random
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import yaml
from backedge.convert.mdf import bson_bytes, json_text, plain_values, yaml_text
from backedge.convert.mdf.document import read_document, write_document
from backedge.convert.mdf.structure import model_from_tree, tree_from_model
from backedge.passes.errors import BackedgeError, InvalidModel, Unsupported

from mdf.examples import EXAMPLES

DEEP = plain_values.TOO_DEEP
DEEPEST = plain_values.DEEPEST
READERS = {"json": json_text.read, "yaml": yaml_text.read, "bson": bson_bytes.read}


def refusal(container: str, data: bytes) -> str:
    with pytest.raises(InvalidModel) as refused:
        READERS[container](data)
    message = str(refused.value)
    assert "\n" not in message
    assert len(message) < 300
    return message


def nested_bson(containers: int, kind: int) -> bytes:
    """Lists (kind 4) or objects (kind 3) inside each other, the outermost an object."""
    sizes = [5 + 8 * level for level in range(containers)]
    heads = [struct.pack("<iB", size, kind) + b"0\0" for size in sizes[:0:-1]]
    return b"".join(heads) + struct.pack("<i", 5) + b"\0" * containers


def nested(containers: int) -> dict[tuple[str, str], bytes]:
    """By container and name, documents of so many lists or objects inside each other."""
    inner = containers - 1
    stairs = "\n".join(" " * level + "a:" for level in range(min(containers, 1000)))
    return {
        ("json", "lists"): b'{"a":' + b"[" * inner + b"]" * inner + b"}",
        ("json", "objects"): b'{"a":' * containers + b"1" + b"}" * containers,
        ("json", "lists behind a string"): b'{"a\\\\":["\\"[[",' + b"[" * (inner - 1) + b"]" * inner + b"}",
        ("yaml", "flow"): b"a: " + b"[" * inner + b"]" * inner,
        ("yaml", "flow objects"): b"{a: " * containers + b"}" * containers,
        ("yaml", "dashes"): b"a:\n" + b"- " * inner + b"1",
        ("yaml", "stairs"): stairs.encode() + b" 1",
        ("bson", "lists"): nested_bson(containers, 4),
        ("bson", "objects"): nested_bson(containers, 3),
    }


def depth(value: Any) -> int:
    levels, inside = 0, [value]
    while inside := [one for one in inside if isinstance(one, dict | list)]:
        levels += 1
        inside = [part for one in inside for part in (one.values() if isinstance(one, dict) else one)]
    return levels


@pytest.mark.parametrize(("container", "name"), nested(DEEPEST))
def test_depth(container: str, name: str) -> None:
    data = nested(DEEPEST)[container, name]
    assert depth(READERS[container](data)) == DEEPEST
    assert refusal(container, nested(DEEPEST + 1)[container, name]) == DEEP
    assert refusal(container, nested(100_000)[container, name]) == DEEP


def test_depth_where_python_allows_any() -> None:
    """Where someone raised the limit of Python's recursion, parsers that recurse end the process."""
    script = """
import sys
sys.path.insert(0, {tests!r})
sys.setrecursionlimit(10**7)
from mdf.test_hostile import READERS, nested
for (container, name), data in nested(100_000).items():
    try:
        READERS[container](data)
    except Exception as error:
        print(error)
"""
    code = script.format(tests=str(Path(__file__).parent.parent))
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert child.returncode == 0, child.stderr
    assert child.stdout.splitlines() == [DEEP] * 9


def test_depth_of_what_is_written(tmp_path: Path) -> None:
    tree: Any = []
    for _ in range(DEEPEST - 2):
        tree = [tree]
    for suffix in (".json", ".yaml", ".bson"):
        write_document({"m": tree}, tmp_path / f"m{suffix}")
        assert read_document(tmp_path / f"m{suffix}") == {"m": tree}
        with pytest.raises(Unsupported, match=DEEP):
            write_document({"m": [tree]}, tmp_path / f"n{suffix}")
    endless: list[Any] = []
    endless.extend([endless, endless])
    with pytest.raises(Unsupported, match=DEEP):
        write_document({"m": endless}, tmp_path / "n.json")


def calls(module: Any, tree: dict[str, Any]) -> int:
    """How often functions of a module are entered, generators each time they go on, while it writes a tree."""
    counted = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal counted
        counted += event == "call" and frame.f_code.co_filename == module.__file__

    sys.setprofile(count)
    try:
        assert (
            READERS[module.__name__.rpartition(".")[2].removesuffix("_text")]("".join(module.lines(tree)).encode())
            == tree
        )
    finally:
        sys.setprofile(None)
    return counted


@pytest.mark.parametrize("module", [json_text, yaml_text])
def test_a_piece_of_text_is_handed_on_once_however_deep_it_stands(module: Any) -> None:
    def deep(levels: int) -> dict[str, Any]:
        tree: dict[str, Any] = {f"k{at}": {"a": at} for at in range(1000)}
        for _ in range(levels):
            tree = {"d": tree}
        return tree

    assert calls(module, deep(40)) < 1.2 * calls(module, deep(1))


def test_number_of_values(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in (plain_values, json_text, yaml_text, bson_bytes):
        monkeypatch.setattr(module, "MOST_VALUES", 100)
    for suffix, dump in ((".json", json.dumps), (".yaml", yaml.safe_dump)):
        path = tmp_path / f"m{suffix}"
        path.write_text(dump({"m": [",,"] * 90}))
        assert read_document(path) == {"m": [",,"] * 90}
        path.write_text(dump({"m": [1] * 101}))
        with pytest.raises(InvalidModel, match="it contains more than"):
            read_document(path)
    assert refusal("bson", bson_bytes.write({"m": [{}] * 101})).startswith("it contains more than")
    with pytest.raises(InvalidModel, match="it contains more than"):
        plain_values.check({"m": [0] * 100}, False)
    assert refusal("json", b"[" + b"{}," * 101).startswith("it contains more than")


def test_size_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    with path.open("wb") as file:
        file.truncate(2**31 + 1)
    with pytest.raises(InvalidModel, match="2147483649 bytes, and a model may have 2147483648"):
        read_document(path)


def test_aliases_that_multiply(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["a: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"b{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 30)]
    assert refusal("yaml", "\n".join(lines).encode()) == "its aliases repeat more than 1000000 values"
    monkeypatch.setattr(yaml_text, "_MOST_REPEATED", 1000)
    keyed = ["a: &a0 {k: 1}"]
    keyed += [f"b{level}: &a{level} {{k: *a{level - 1}, l: *a{level - 1}}}" for level in range(1, 60)]
    assert refusal("yaml", "\n".join(keyed).encode()) == "its aliases repeat more than 1000 values"
    monkeypatch.undo()
    chain = ["a: &a0 [1]"] + [f"b{level}: &a{level} [*a{level - 1}]" for level in range(1, DEEPEST + 20)]
    assert refusal("yaml", "\n".join(chain).encode()) == DEEP


@pytest.mark.parametrize(
    ("container", "text", "message"),
    [
        ("json", '{"a": -' + "9" * 100_000 + "}", "an integer of 100001 digits, which doesn't fit in 64 bits"),
        ("yaml", "a: " + "9" * 100_000, "line 1: a number of 100000 characters"),
        ("yaml", "a: 1" + ":1" * 100_000, "line 1: a number of 200001 characters"),
        ("yaml", "a: 0." + "9" * 100_000, ""),
        ("json", '{"a": 0.' + "9" * 100_000 + "}", ""),
        ("yaml", "a: " + "1:" * 190 + "1.5", "line 1: '"),
        ("yaml", "".join(f"%TAG !a{n}! b\n" for n in range(300_000)), "it has more than 1000 %TAG directives"),
    ],
    ids=["json int", "yaml int", "yaml base 60", "yaml float", "json float", "yaml float base 60", "directives"],
)
def test_long_numbers(container: str, text: str, message: str) -> None:
    if message:
        assert refusal(container, text.encode()).startswith(message)
    else:
        assert READERS[container](text.encode()) == {"a": 1.0}


@pytest.mark.parametrize("container", READERS)
def test_truncated(container: str, tmp_path: Path) -> None:
    """Cut anywhere, JSON and BSON are refused; YAML may be whole without its last lines."""
    path = tmp_path / f"m.{container}"
    write_document(EXAMPLES["threshold"], path)
    data = path.read_bytes().rstrip(b"\n")
    for end in range(0, len(data), 3):
        if container != "yaml":
            refusal(container, data[:end])
        else:
            _read_or_refused(path, data[:end])


WRONG: list[Any] = [None, 3, 1.5, True, "x", "", [], [1], ["x"], [{}], [{"id": "x"}], {}, {"x": 1}, {"id": "x"}, b"x"]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each value of a tree, as what holds it and the key or index it has there."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


def _modelled_or_refused(tree: Any) -> bool:
    """Whether a tree is a model; then it comes back through its tree, else the reason is one line."""
    try:
        model = model_from_tree(tree)
    except BackedgeError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 300
        return False
    again = tree_from_model(model)
    assert model_from_tree(again) == model or "nan" in repr(model)
    return True


@pytest.mark.parametrize("name", EXAMPLES)
def test_wrong_types_everywhere(name: str) -> None:
    tree = copy.deepcopy(EXAMPLES[name])
    outcomes = set()
    for holder, key in list(_places(tree)):
        right = holder[key]
        for wrong in WRONG:
            holder[key] = wrong
            outcomes.add(_modelled_or_refused(tree))
        holder[key] = right
    assert tree == EXAMPLES[name]
    assert outcomes == {True, False}


def _read_or_refused(path: Path, data: bytes) -> bool:
    path.write_bytes(data)
    try:
        tree = read_document(path)
    except InvalidModel as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 300 + len(str(path))
        return False
    return _modelled_or_refused(tree)


TOKENS = {
    "json": [
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b'"',
        b"\\",
        b"NaN",
        b"1e999",
        b"null",
        b'"id"',
        b'"a":1,',
        b"\\ud800",
    ],
    "yaml": [
        *(b"{", b"}", b"[", b"]", b",", b": ", b'"', b"'", b"\n", b"- ", b"  ", b"&a ", b"*a", b"? ", b"| ", b"> "),
        *(b"!!str ", b"!!int ", b"!x ", b"<<: ", b"---\n", b"...\n", b"%YAML 1.1\n", b"\t", b"#", b"on", b"~", b"\x00"),
        *(b"2024-01-01", b"!!binary ", b"!!set ", b"@", b"=", b"1:1", b"0b1", b"!!bool ", b"!!null "),
    ],
    "bson": [bytes([kind]) for kind in (*range(0, 20), 0x7F, 0xFF)] + [b"\xff\xff\xff\xff", b"\x05\0\0\0\0"],
}


def _damaged(data: bytes, container: str, rng: random.Random) -> bytes:
    """A document with one to four places changed; BSON mostly keeps a right length, to be read any further."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(changed))
        what = rng.randrange(5)
        if what == 0:
            del changed[at : at + rng.randrange(1, 9)]
        elif what == 1:
            changed[at:at] = rng.choice(TOKENS[container])
        elif what == 2:
            changed[at : at + 1] = rng.choice(TOKENS[container])
        elif what == 3:
            changed[at] = rng.randrange(256) if container == "bson" else rng.randrange(32, 127)
        else:
            start = rng.randrange(len(changed))
            changed[at:at] = changed[start : start + 30]
    if container == "bson" and rng.random() < 0.8:
        changed[:4] = len(changed).to_bytes(4, "little")
    return bytes(changed)


@pytest.mark.parametrize("container", READERS)
def test_damaged_documents_are_read_or_refused(container: str, tmp_path: Path) -> None:
    rng = random.Random(container)
    path = tmp_path / f"m.{container}"
    outcomes = []
    for tree in EXAMPLES.values():
        write_document(tree, path)
        data = path.read_bytes()
        outcomes += [_read_or_refused(path, _damaged(data, container, rng)) for _ in range(60)]
    assert outcomes.count(True) > 20
    assert outcomes.count(False) > 50
