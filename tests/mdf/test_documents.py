"""Files of MDF <-> trees of plain values, in all three containers."""

from __future__ import annotations

import json
import math
import random
import struct
from pathlib import Path
from typing import Any

import bson
import pytest
import yaml
from backedge.convert.mdf import json_text, yaml_text
from backedge.convert.mdf.document import container_of, read_document, write_document
from backedge.passes.errors import InvalidModel, Unsupported
from modeci_mdf.mdf import Model as TheirModel

from mdf.examples import EXAMPLES

SUFFIXES = (".json", ".yaml", ".bson")
THEIRS = {
    ".json": lambda data: json.loads(data),
    ".yaml": lambda data: yaml.safe_load(data),
    ".bson": lambda data: bson.decode(data),
}
"""The readers that everybody has."""

FLOATS = [0.1, -0.0, 1e-05, 1e16, 1e17, 1e22, 123456789012345680.0, 5e-324, 1.7976931348623157e308, -2.5e-7, 3.0]

TEXTS = [
    *("", " ", "yes", "No", "on", "OFF", "true", "null", "Null", "~", "y", "N", "_", "a_1", "NaN", ".nan", "-.inf"),
    *("1", "-1", "1e-05", "1.0e-05", "0x1F", "0o7", "017", "1_000", "1:30", "2024-01-01", "=", "<<", "-", "?", ":"),
    *(
        "- a",
        "a: b",
        "a #b",
        "#a",
        " a",
        "a ",
        "a\nb",
        "\n",
        "a\tb",
        "a\rb",
        "\"'",
        "\\",
        "\\n",
        "!a",
        "&a",
        "*a",
        "%a",
    ),
    *("@a", "`a", "{a}", "[a]", "a,b", "|", ">", "é", "\x7f", "\x85", "\u2028", "\ufeff", "\uffff", "\U0001f600", "\0"),
    *("onnx::Add", "-cooling_coeff*(T_curr - T_a)", "/A/Add", "x" * 3000, "é" * 500),
]


def written(tree: dict[str, Any], path: Path) -> bytes:
    write_document(tree, path)
    return path.read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_written_and_read(name: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"m{suffix}"
    assert THEIRS[suffix](written(EXAMPLES[name], path)) == EXAMPLES[name]
    assert read_document(path) == EXAMPLES[name]
    assert TheirModel.from_file(str(path)).to_dict() == EXAMPLES[name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_their_library_writes_is_read(suffix: str, tmp_path: Path) -> None:
    model = TheirModel.from_json(json.dumps(EXAMPLES["ABCD"]))
    path = tmp_path / f"m{suffix}"
    getattr(model, {".json": "to_json_file", ".yaml": "to_yaml_file", ".bson": "to_bson_file"}[suffix])(str(path))
    assert read_document(path) == EXAMPLES["ABCD"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_numbers_keep_their_bits_and_kind(suffix: str, tmp_path: Path) -> None:
    numbers = [*FLOATS, math.inf, -math.inf, 0, -1, 2**31, -(2**63), 2**63 - 1]
    tree = {"m": {"list": numbers, "rows": [numbers, [numbers]], "one": 1e-05, "flags": [True, False, None, 1, 1.0]}}
    path = tmp_path / f"m{suffix}"
    for got in (THEIRS[suffix](written(tree, path)), read_document(path)):
        assert got == tree
        assert list(map(repr, got["m"]["list"])) == list(map(repr, numbers))
        assert list(map(type, got["m"]["flags"])) == [bool, bool, type(None), int, float]
    assert all(type(number) in (int, float) for number in read_document(path)["m"]["list"])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nan_is_a_number(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"m{suffix}"
    for got in (THEIRS[suffix](written({"m": [[math.nan]]}, path)), read_document(path)):
        assert type(got["m"][0][0]) is float
        assert math.isnan(got["m"][0][0])


def test_unsigned_64_bits(tmp_path: Path) -> None:
    tree = {"m": {"w": [2**64 - 1]}}
    for suffix in (".json", ".yaml"):
        assert THEIRS[suffix](written(tree, tmp_path / f"m{suffix}")) == tree
        assert read_document(tmp_path / f"m{suffix}") == tree
    with pytest.raises(Unsupported, match=r"BSON: it has no integers above 2\*\*63 - 1"):
        write_document(tree, tmp_path / "m.bson")
    assert not (tmp_path / "m.bson").exists()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_text_of_every_kind(suffix: str, tmp_path: Path) -> None:
    keys = {text: text for text in TEXTS if not (suffix == ".bson" and "\0" in text)}
    tree = {"m": {"list": TEXTS, "keys": keys, "rows": [["a", 1], [TEXTS]]}}
    path = tmp_path / f"m{suffix}"
    assert THEIRS[suffix](written(tree, path)) == tree
    assert list(read_document(path)["m"]["keys"]) == list(keys)
    assert read_document(path) == tree


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_random_trees(suffix: str, tmp_path: Path) -> None:
    rng = random.Random(7)

    def value(depth: int) -> Any:
        kind = rng.randrange(8 if depth < 4 else 5)
        if kind == 0:
            return rng.choice([None, True, False, rng.randrange(-(2**63), 2**63), rng.randrange(-9, 9)])
        if kind == 1:
            return rng.choice([*FLOATS, math.inf, struct.unpack("<d", rng.randbytes(7) + b"\x3f")[0]])
        if kind <= 4:
            return rng.choice(TEXTS[:-3])
        if kind <= 6:
            return [value(depth + 1) for _ in range(rng.randrange(4))]
        return {rng.choice(TEXTS[:-6]): value(depth + 1) for _ in range(rng.randrange(4))}

    path = tmp_path / f"m{suffix}"
    for _ in range(150):
        tree = {"m": value(0), "n": [value(1), value(1)]}
        assert repr(THEIRS[suffix](written(tree, path))) == repr(tree)
        assert repr(read_document(path)) == repr(tree)


def test_layout(tmp_path: Path) -> None:
    tree = {"m": {"w": [[1, 2.5], [3e-07, math.inf]], "l": [{"a": "b c"}, [], ["x", {}]], "e": {}, "on": "off"}}
    assert written(tree, tmp_path / "m.json").decode() == (
        '{\n  "m": {\n    "w": [[1, 2.5], [3e-07, Infinity]],\n    "l": [\n      {\n        "a": "b c"\n      },\n'
        '      [],\n      ["x", {}]\n    ],\n    "e": {},\n    "on": "off"\n  }\n}\n'
    )
    assert written(tree, tmp_path / "m.yml").decode() == (
        'm:\n  w: [[1, 2.5], [3.0e-07, .inf]]\n  l:\n    -\n      a: "b c"\n    - []\n    - [x, {}]\n  e: {}\n'
        '  "on": "off"\n'
    )


def test_long_keys(tmp_path: Path) -> None:
    tree = {letter * size: {"a": [1]} for letter in "xé" for size in (80, 90, 899, 900, 901, 1024, 4000)}
    for suffix in SUFFIXES:
        assert THEIRS[suffix](written(tree, tmp_path / f"m{suffix}")) == tree


def test_bytes_stand_in_bson_only(tmp_path: Path) -> None:
    tree = {"m": {"w": [b"", b"\0\xff"]}}
    assert bson.decode(written(tree, tmp_path / "m.bson")) == tree
    assert read_document(tmp_path / "m.bson") == tree
    for suffix in (".json", ".yaml"):
        with pytest.raises(Unsupported, match="'m' > 'w' > 0: bytes, which only BSON supports"):
            write_document(tree, tmp_path / f"m{suffix}")
        assert not (tmp_path / f"m{suffix}").exists()


@pytest.mark.parametrize(
    ("suffix", "expected"), [(".JSON", "json"), (".yml", "yaml"), (".Bson", "bson"), (".mdf", None)]
)
def test_container_by_suffix(suffix: str, expected: str | None) -> None:
    assert container_of(Path(f"a.b{suffix}")) == expected


@pytest.mark.parametrize("container", ["json", "yaml", "bson"])
def test_container_by_content(container: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.mdf"
    write_document(EXAMPLES["States"], path, container)
    assert read_document(path) == EXAMPLES["States"]
    assert THEIRS[f".{container}"](path.read_bytes()) == EXAMPLES["States"]


def test_a_foreign_suffix_is_written_as_json(tmp_path: Path) -> None:
    assert json.loads(written({"m": {}}, tmp_path / "m.mdf")) == {"m": {}}


def test_byte_order_mark(tmp_path: Path) -> None:
    for suffix in (".json", ".yaml", ".mdf"):
        path = tmp_path / f"m{suffix}"
        path.write_bytes(b'\xef\xbb\xbf {"m": {"a": [1]}}')
        assert read_document(path) == {"m": {"a": [1]}}


@pytest.fixture(params=["C", "Python"])
def yaml_tree(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Reads YAML through libyaml's parser, and through that of PyYAML."""
    if request.param == "Python":
        monkeypatch.setattr(yaml_text, "_LOADER", yaml.SafeLoader)
    return lambda text: yaml_text.read(text.encode())


SCALARS = [
    *("1e-05", "1.0e-05", "1.5e5", "1.5e+5", "1.", ".5", "-.5", "+1", "-0", "-0.0", "017", "0b11", "0x1f", "-0x1F"),
    *("1_000", "1:30", "-1:30.5", "1:30:00", ".inf", "-.INF", "+.inf", ".NaN", "yes", "No", "ON", "tRue", "~", ""),
    *("null", "nil", "0.1.2", "1-1", "a", "'1'", '"1"', '"\\x41"', "!!str 1", "!!int '7'", "!!float 1"),
    *("!!null x", "!!bool on", "! 1", "99999999999999999999", "0.1e5", "01.5", "-01", "08", "1e5", "1.e+5"),
    "12345678901234567",
]


@pytest.mark.parametrize("text", SCALARS)
def test_yaml_scalars_are_what_their_reader_makes_of_them(yaml_tree: Any, text: str) -> None:
    assert repr(yaml_tree(f"a: {text}")) == repr(yaml.safe_load(f"a: {text}"))
    if text and ":" not in text:
        assert repr(yaml_tree(f"a: [{text}, {text}]")) == repr(yaml.safe_load(f"a: [{text}, {text}]"))


def test_yaml_of_every_style(yaml_tree: Any) -> None:
    text = "%YAML 1.1\n---\n# note\na: |\n  x\n  y\nb: >-\n  x\n  y\n'c': [1, {d: 2}, 'e\n  f']\n? g\n: - 1\n  - h: 2\n"
    assert yaml_tree(text) == {"a": "x\ny\n", "b": "x y", "c": [1, {"d": 2}, "e f"], "g": [1, {"h": 2}]}


def test_aliases_are_copies(yaml_tree: Any) -> None:
    tree = yaml_tree("a: &x [1, {b: 2}]\nc: *x\nd: [*x, &y 5, *y]")
    assert tree == {"a": [1, {"b": 2}], "c": [1, {"b": 2}], "d": [[1, {"b": 2}], 5, 5]}
    tree["a"][1]["b"] = 3
    assert tree["c"] == tree["d"][0] == [1, {"b": 2}]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("on: 1", "line 1: YAML reads the key 'on' as True; put it in quotes"),
        ("a:\n  1: 2", "line 2: YAML reads the key '1' as 1; put it in quotes"),
        ("~: 1", "line 1: YAML reads the key '~' as None; put it in quotes"),
        ("? [a]\n: 1", "line 1: a key that isn't text, but an alias, a list or an object"),
        ("a: &x b\n*x : 1", "line 2: a key that isn't text, but an alias, a list or an object"),
        ("a: 1\na: 2", "line 2: an object has the key 'a' twice"),
        ("a: {b: 1, 'b': 2}", "line 1: an object has the key 'b' twice"),
        ("a: &x {b: 1}\nc:\n  <<: *x", "line 3: YAML reads '<<' as a merge of objects; text must be in quotes"),
        ("a: <<", "line 1: YAML reads '<<' as a merge of objects; text must be in quotes"),
        ("a: =", "line 1: YAML reads '=' as a default value; text must be in quotes"),
        ("a: 2024-01-01", "line 1: YAML reads '2024-01-01' as a date; text must be in quotes"),
        ("a: !!binary aGk=", "line 1: YAML reads 'aGk=' as bytes, which only BSON supports; text must be in quotes"),
        (
            "a: !!python/object/apply:os.system ['true']",
            "line 1: the tag 'tag:yaml.org,2002:python/object/apply:os.system'; a model has only YAML's plain ones",
        ),
        (
            "a: !!python/name:os.system ''",
            "line 1: the tag 'tag:yaml.org,2002:python/name:os.system'; a model has only YAML's plain ones",
        ),
        ("a: !!set {b}", "line 1: the tag 'tag:yaml.org,2002:set'; a model has only YAML's plain ones"),
        ("a: !!omap [b: 1]", "line 1: the tag 'tag:yaml.org,2002:omap'; a model has only YAML's plain ones"),
        ("a: !mine 1", "line 1: the tag '!mine'; a model has only YAML's plain ones"),
        ("a: !<null> 1", "line 1: the tag 'null'; a model has only YAML's plain ones"),
        ("a: !!map [1]", "line 1: the tag 'tag:yaml.org,2002:map'; a model has only YAML's plain ones"),
        ("a: !!int b", "line 1: 'b' isn't of YAML's type 'int'"),
        ("a: !!int ''", "line 1: '' isn't of YAML's type 'int'"),
        ("a: !!bool 2", "line 1: '2' isn't of YAML's type 'bool'"),
        ("a: *b", "line 1: the alias 'b' has no anchor before it"),
        ("a: &x [*x]", "line 1: the alias 'x' has no anchor before it"),
        ("a: [&x 1, &x 2]", "line 1: the anchor 'x' is defined twice"),
        ("a: 1\n---\nb: 2", "line 2: a second document; a model is one"),
        ("", "it is empty; a model is an object"),
        ("# nothing\n", "it is empty; a model is an object"),
        ("a: [1", "it isn't YAML, line "),
        ("a: 1\n b: 2", "it isn't YAML, line 2: "),
        ("a: \x01", "it isn't YAML: "),
    ],
)
def test_yaml_that_is_no_model(yaml_tree: Any, text: str, reason: str) -> None:
    with pytest.raises(InvalidModel) as refused:
        yaml_tree(text)
    assert str(refused.value).startswith(reason)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it isn't JSON, line 1: Expecting value"),
        ('{"a": 1', "it isn't JSON, line 1: "),
        ('{"a": 1}\n]', "it isn't JSON, line 2: Extra data"),
        ('{"a": 1, "b": {"a": 1, "a": 1}}', "an object has the key 'a' twice"),
        ('{"a": 1, "\\u0061": 1}', "an object has the key 'a' twice"),
        ('{"a": 01}', "it isn't JSON, line 1: "),
        ("{'a': 1}", "it isn't JSON, line 1: "),
        ("// a\n{}", "it isn't JSON, line 1: Expecting value"),
    ],
)
def test_json_that_is_no_model(text: str, reason: str) -> None:
    with pytest.raises(InvalidModel) as refused:
        json_text.read(text.encode())
    assert str(refused.value).startswith(reason)


@pytest.mark.parametrize(
    ("suffix", "data", "reason"),
    [
        (".json", b"[1]", "it contains a list; a model is an object"),
        (".yaml", b"text", "it contains text; a model is an object"),
        (".yaml", b"1", "it contains an integer; a model is an object"),
        (".json", b"null", "it contains nothing; a model is an object"),
        (".json", b'{"a": "\xff"}', "its text isn't UTF-8"),
        (".yaml", "a: 1".encode("utf-16"), "its text isn't UTF-8"),
        (".json", b'{"a": {"b": [1, "\\ud800"]}}', "'a' > 'b' > 1: '\\ud800' contains half of a surrogate pair"),
        (".json", b'{"a": {"\\ud800": 1}}', "'a': '\\ud800' contains half of a surrogate pair"),
        (".json", b'{"a": [18446744073709551616]}', "'a' > 0: a number this large doesn't fit in 64 bits"),
        (".yaml", b"a: -9223372036854775809", "'a': a number this large doesn't fit in 64 bits"),
        (".bson", b"", "it isn't BSON, or is truncated: its length doesn't match its first four bytes"),
        (".bson", b"\x05\0\0\0\1", "it isn't BSON, or is truncated: its length doesn't match its first four bytes"),
    ],
)
def test_files_that_are_no_model(suffix: str, data: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / f"m{suffix}"
    path.write_bytes(data)
    with pytest.raises(InvalidModel) as refused:
        read_document(path)
    assert str(refused.value) == f"{path}: {reason}"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (bson.ObjectId(b"0123456789ab"), "an object id"),
        (bson.Regex("a"), "a regular expression"),
        (bson.Decimal128("1.5"), "a decimal number"),
        (bson.Code("x"), "a program"),
        (bson.Timestamp(1, 1), "a time stamp"),
        (bson.DatetimeMS(0), "a date"),
        (bson.MinKey(), "the smallest key"),
        (bson.MaxKey(), "the largest key"),
        (bson.Binary(b"a", 4), "bytes of a subtype"),
        (bson.DBRef("a", 1), "of type DBRef"),
    ],
)
def test_bson_types_that_no_model_has(value: Any, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "m.bson"
    for holder in ({"m": value}, {"m": [1, value]}):
        path.write_bytes(bson.encode(holder))
        with pytest.raises(InvalidModel, match=reason):
            read_document(path)


def element(kind: int, key: bytes, value: bytes) -> bytes:
    return bytes([kind]) + key + b"\0" + value


def bson_object(*elements: bytes) -> bytes:
    body = b"".join(elements) + b"\0"
    return (len(body) + 4).to_bytes(4, "little") + body


ONE = (1).to_bytes(4, "little")
BAD_BSON = {
    "a key twice": bson_object(element(0x10, b"a", ONE), element(0x10, b"a", ONE)),
    "a key twice inside": bson_object(element(3, b"a", bson_object(element(10, b"b", b""), element(8, b"b", b"\1")))),
    "an unknown type": bson_object(element(0x20, b"a", ONE)),
    "a list longer than what holds it": bson_object(element(4, b"a", b"\x40\0\0\0" + bson_object()[4:])),
    "a list shorter than its elements": bson_object(element(4, b"a", b"\x06\0\0\0" + element(16, b"0", ONE) + b"\0")),
    "a list without an end": bson_object(element(4, b"a", b"\x05\0\0\0\1")),
    "a list of negative length": bson_object(element(4, b"a", b"\xff\xff\xff\xff\0")),
    "text that runs over the end": bson_object(element(2, b"a", b"\x50\0\0\0a\0")),
    "text of no length": bson_object(element(2, b"a", b"\0\0\0\0")),
    "text of negative length": bson_object(element(2, b"a", b"\xff\xff\xff\xffa\0")),
    "text without an end": bson_object(element(2, b"a", b"\2\0\0\0ab")),
    "text that isn't UTF-8": bson_object(element(2, b"a", b"\2\0\0\0\xff\0")),
    "a key that isn't UTF-8": bson_object(element(10, b"\xff", b"")),
    "a key without an end": b"\x07\0\0\0\x0aa\0",
    "a truth value of 2": bson_object(element(8, b"a", b"\2")),
    "half a number": bson_object(element(1, b"a", b"\0\0\0\0")),
    "bytes that run over the end": bson_object(element(5, b"a", b"\x50\0\0\0\0a")),
    "something after the end": bson_object(b"\0", element(10, b"a", b"")),
}


@pytest.mark.parametrize("case", BAD_BSON)
def test_damaged_bson(case: str, tmp_path: Path) -> None:
    path = tmp_path / "m.bson"
    path.write_bytes(BAD_BSON[case])
    with pytest.raises(InvalidModel, match=r"isn't BSON|twice") as refused:
        read_document(path)
    assert "\n" not in str(refused.value)


def test_bson_of_another_writer(tmp_path: Path) -> None:
    """Lists may have any keys, and whole numbers 64 bits where 32 would do."""
    numbers = [element(18, key, (5).to_bytes(8, "little")) for key in (b"7", b"", b"7")]
    (tmp_path / "m.bson").write_bytes(bson_object(element(4, b"m", bson_object(*numbers))))
    tree = read_document(tmp_path / "m.bson")
    assert tree == {"m": [5, 5, 5]}
    assert {type(number) for number in tree["m"]} == {int}


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        ({"m": {"a\0b": 1}}, "NULL"),
        (
            {"m": {"$ref": "a", "$id": 1}},
            "its readers take an object with the keys '\\$ref' and '\\$id' for a reference",
        ),
    ],
)
def test_what_bson_cannot_hold(tree: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=reason):
        write_document(tree, tmp_path / "m.bson")
    assert not (tmp_path / "m.bson").exists()
    assert json.loads(written(tree, tmp_path / "m.json")) == tree
    assert yaml.safe_load(written(tree, tmp_path / "m.yaml")) == tree


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        ([1], "it contains a list; a model is an object"),
        ({"m": (1, 2)}, "'m': a model can't contain a value of type tuple"),
        ({"m": {1: 2}}, "'m': the key '1' isn't text"),
        ({"m": [2**64]}, "'m' > 0: a number this large doesn't fit in 64 bits"),
        ({"m": "\ud800"}, "'m': '\\ud800' contains half of a surrogate pair"),
    ],
)
def test_trees_that_are_not_written(tree: Any, reason: str, tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        with pytest.raises(Unsupported) as refused:
            write_document(tree, tmp_path / f"m{suffix}")
        assert str(refused.value) == f"MDF: {reason}"
        assert not (tmp_path / f"m{suffix}").exists()


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidModel, match=r"m\.json: No such file"):
        read_document(tmp_path / "m.json")
    with pytest.raises(InvalidModel, match="directory"):
        read_document(tmp_path)
    with pytest.raises(InvalidModel, match=r"m\.json: No such file"):
        write_document({"m": {}}, tmp_path / "none" / "m.json")
