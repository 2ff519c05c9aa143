"""Text through OpenVINO, against ONNX Runtime and Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import convert
from backedge.convert.files import to_hub
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.dialect import META
from backedge.convert.openvino.lowering import lower_graph
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph
from decompose.cases import NUMBERS, WORDS, check, model
from decompose.targets import OpenVINO

from .runner import Runner


def test_text(openvino: Runner) -> None:
    target = OpenVINO(openvino)
    options: Any = {"domain": "", "version": 20}
    check(target, "StringConcat", WORDS, WORDS[::-1].copy(), **options)
    check(target, "Equal", WORDS, np.array([["cat"], ["dög"]], object), **options)
    stop: Any = {"stopwords": ["cat", "horse"], "is_case_sensitive": 1}
    check(target, "StringNormalizer", WORDS, **stop, **options)
    check(target, "StringNormalizer", np.array(["cat"], object), **stop, **options)
    check(target, "StringNormalizer", WORDS, is_case_sensitive=1, **options)


LETTERS = np.array(["Straße ŉ ﬃ ᾳ", "ΣΑΣ Ωμέγα", "ÀÉÎ", "", "İı", "Ǆǅ Привет", "𐐨𐐀 漢字 😀", "Ii `a{@Z[ 123"], object)
CHANGED = {
    # ONNX Runtime's results, with glibc's locales; Turkish has an i of its own, C letters of ASCII only
    ("UPPER", "en_US"): "STRAßE ŉ ﬃ ᾼ|ΣΑΣ ΩΜΈΓΑ|ÀÉÎ||İI|ǄǄ ПРИВЕТ|𐐀𐐀 漢字 😀|II `A{@Z[ 123",
    ("LOWER", "en_US"): "straße ŉ ﬃ ᾳ|σασ ωμέγα|àéî||iı|ǆǆ привет|𐐨𐐨 漢字 😀|ii `a{@z[ 123",
    ("UPPER", "C"): "STRAßE ŉ ﬃ ᾳ|ΣΑΣ Ωμέγα|ÀÉÎ||İı|Ǆǅ Привет|𐐨𐐀 漢字 😀|II `A{@Z[ 123",
    ("LOWER", "POSIX"): "straße ŉ ﬃ ᾳ|ΣΑΣ Ωμέγα|ÀÉÎ||İı|Ǆǅ Привет|𐐨𐐀 漢字 😀|ii `a{@z[ 123",
    ("UPPER", "tr_TR.UTF-8"): "STRAßE ŉ ﬃ ᾼ|ΣΑΣ ΩΜΈΓΑ|ÀÉÎ||İI|ǄǄ ПРИВЕТ|𐐀𐐀 漢字 😀|Iİ `A{@Z[ 123",
    ("LOWER", "tr_TR.UTF-8"): "straße ŉ ﬃ ᾳ|σασ ωμέγα|àéî||iı|ǆǆ привет|𐐨𐐨 漢字 😀|ıi `a{@z[ 123",
}


@pytest.mark.parametrize(("action", "locale"), CHANGED)
def test_letters(openvino: Runner, action: str, locale: str) -> None:
    options: Any = {"case_change_action": action, "is_case_sensitive": 1, "locale": locale}
    made = model("StringNormalizer", LETTERS, 1, 10, domain="", **options)
    ((found,),) = openvino.lowered(raise_graph(read_model(made)), [{"x0": LETTERS}])
    assert "|".join(found) == CHANGED[action, locale]


def test_letters_of_the_machine() -> None:
    made = model("StringNormalizer", LETTERS, 1, 10, domain="", locale="", case_change_action="LOWER")
    with pytest.raises(Unsupported, match="the locale of the machine"):
        lower_graph(raise_graph(read_model(made)))


def test_stopwords_of_ascii(openvino: Runner) -> None:
    """In C an umlaut is no letter: as ONNX Runtime, which takes that locale on every machine."""
    words = np.array(["Der", "WÖRTER", "und", "wörter", "UND", "wÖRTER", "wörTER"], object)
    options: Any = {"case_change_action": "UPPER", "stopwords": ["und", "Wörter"], "locale": "C"}
    target = OpenVINO(openvino)
    check(target, "StringNormalizer", words, is_case_sensitive=0, domain="", version=20, **options)


def test_stopwords_in_any_case(openvino: Runner) -> None:
    words = np.array(["Der", "WÖRTER", "und", "wörter", "UND", "Ende"], object)
    options: Any = {"case_change_action": "UPPER", "is_case_sensitive": 0, "stopwords": ["und", "Wörter"]}
    made = model("StringNormalizer", words, 1, 10, domain="", **options)
    ((found,),) = openvino.lowered(raise_graph(read_model(made)), [{"x0": words}])
    assert found.tolist() == ["DER", "ENDE"]


LINES = np.array(["a,b,,c", "", ",", "  x y  z ", "ünï,çode", " ", "a\u2003b\tc\n", "\tx ", ",,x,"], object)


@pytest.mark.parametrize("delimiter", [",", "", "ï,ç", ", "])
@pytest.mark.parametrize("most", [None, -1, 0, 1, 5])
def test_splitting(openvino: Runner, delimiter: str, most: int | None) -> None:
    """As ONNX Runtime: of "" there are no pieces, and only blanks are spaces."""
    options: Any = {"delimiter": delimiter} | ({} if most is None else {"maxsplit": most})
    for lines in (LINES, np.array([""], object), np.zeros(0, object)):
        check(OpenVINO(openvino), "StringSplit", lines, outputs=2, domain="", version=20, **options)


@pytest.mark.parametrize("sizes", ["2, 2", "m, n"])
def test_a_given_text_handed_out(openvino: Runner, sizes: str) -> None:
    text = (
        f'<ir_version: 10, opset_import: ["" : 21]> g (string[{sizes}] x) => (string[{sizes}] y) {{ y = Identity (x) }}'
    )
    x = np.array([["a", ""], ["a text that has no room in a pointer", "é"]], object)
    found = openvino.lowered(raise_graph(read_model(onnx.parser.parse_model(text))), [{"x": x}] * 3)
    assert [y.tolist() for (y,) in found] == [x.tolist()] * 3


def test_keys_beyond_int32() -> None:
    made = model("LabelEncoder", NUMBERS, 1, 3, domain="ai.onnx.ml", keys_int64s=[2**40], values_int64s=[1])
    with pytest.raises(Unsupported, match="int32"):
        lower_graph(raise_graph(read_model(made)))


@pytest.mark.parametrize(
    "body",
    [
        "s, n = StringSplit (c) y = Identity (n)",
        "s, n = StringSplit (c) y = Equal (s, x)",
        "y = StringConcat (c, c)",
        "z = StringNormalizer (c) y = Concat <axis = 0> (z, x)",
    ],
)
def test_text_of_constants(body: str) -> None:
    """OpenVINO reads none of these files."""
    text = f'(string[1] x) => (y) <string[2] c = {{"a b", "x"}}> {{ {body} }}'
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> g {text.replace("(y)", "(float y)")}')
    made.graph.output[0].ClearField("type")
    with pytest.raises(Unsupported, match="text of constants only"):
        lower_graph(raise_graph(read_model(made)))


def written(body: str) -> tuple[Graph, Graph]:
    """A model of text whose result is `y`: the hub graph, and its layers."""
    made = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 21]> g (string[N] x, string[1, N] z) => (float y) {{ {body} }}'
    )
    made.graph.output[0].ClearField("type")
    hub = raise_graph(read_model(made))
    return hub, lower_graph(hub)


def told(graph: Graph) -> list[Any]:
    """The operators of a graph, in an order of their own."""
    attributes = {"maxsplit": -1, "is_case_sensitive": 0, "delimiter": ""}
    return sorted(
        (node.op_type, {**attributes, **{k: str(v) for k, v in node.attributes.items()}}.__repr__())
        for node in graph.topological()
    )


@pytest.mark.parametrize(
    "body",
    [
        "s, y = StringSplit (x)",
        "y, n = StringSplit <maxsplit = 1> (z)",
        'y, n = StringSplit <delimiter = "ab"> (x)',
        "y = StringConcat (x, z)",
        "y = Equal (z, x)",
        'c = Constant <value_strings = ["é"]> () y = StringConcat (c, x)',
        'y = StringNormalizer <case_change_action = "UPPER"> (x)',
        'y = StringNormalizer <stopwords = ["é", "A"], is_case_sensitive = 1, locale = "en_US"> (x)',
        'a = StringNormalizer <case_change_action = "LOWER"> (x) b, n = StringSplit (a) y = StringConcat (b, b)',
    ],
)
def test_operators_on_text_are_read_back(body: str) -> None:
    hub, layers = written(body)
    assert len(layers) > 3 * len(hub)
    assert told(to_hub(layers)) == told(hub)


def test_text_is_read_back_from_files(tmp_path: Path) -> None:
    text = """g (string[N] x, string[1] z) => (string[N, p] y, int64[N] n, bool[N] e) {
        c = StringConcat (x, z) y, n = StringSplit <delimiter = ","> (c) e = Equal (c, x) }"""
    source, layers, back = (tmp_path / name for name in ("a.onnx", "b.xml", "c.onnx"))
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}'), source)
    convert(source, layers, verify=0)
    convert(layers, back, verify=0)
    feeds = {"x": np.array(["a,b", "é,", ""], object), "z": np.array([",x"], object)}
    wanted, found = (onnxruntime.InferenceSession(path).run(None, feeds) for path in (source, back))
    assert [value.tolist() for value in found] == [value.tolist() for value in wanted]
    assert {node.op_type for node in onnx.load(back).graph.node} == {"StringConcat", "StringSplit", "Equal"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"delimiter": "a"', '"delimiter": "b"'),
        ('"operator": "StringSplit"', '"operator": "StringNormalizer"'),
        ('"output": 1', '"output": 7'),
        ('"outputs": 2', '"outputs": "two"'),
        ('"shape": [null]', '"shape": [3]'),
        ('"version"', '"diversion"'),
        ("{", "[" * 100_000),
    ],
)
def test_marks_that_do_not_fit_are_passed_over(old: str, new: str) -> None:
    _, layers = written('y0, y = StringSplit <delimiter = "a"> (x)')
    entries = [entry for node in layers.nodes for entry in getattr((node.meta or {}).get(META), "rt_info", ())]
    for entry in entries:
        entry["value"] = entry["value"].replace(old, new)
    assert any(new in entry["value"] for entry in entries)
    with pytest.raises(Unsupported, match=r"bytes of strings|strings of bytes"):
        to_hub(layers)


def test_text_that_operators_look_up_is_not_read_back() -> None:
    made = model("LabelEncoder", NUMBERS, 1, 3, domain="ai.onnx.ml", keys_int64s=[1], values_strings=["a"])
    with pytest.raises(Unsupported, match="ONNX can't make strings of bytes"):
        to_hub(lower_graph(raise_graph(read_model(made))))
