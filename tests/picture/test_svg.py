"""The SVG text: well-formed, complete, safe whatever the names are, and written whole or not at all."""

from __future__ import annotations

import re
import stat
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from backedge.convert.cli import main
from backedge.passes.errors import InvalidModel
from backedge.passes.graph import Graph, Value
from backedge.passes.loop import Carried, Loop, is_loop
from backedge.passes.picture import svg_text, write_svg
from backedge.passes.types import tensor
from control_flow.cases import CASES

from .models import GRAPHS, SAMPLES, F, case, chain, every_slot, loops, neg, nested, sample, skipping

SVG = "{http://www.w3.org/2000/svg}"
KINDS = {
    "Carried": "carried",
    "Sliced": "sliced",
    "Captured": "captured",
    "Iteration": "iteration",
    "Stacked": "stacked",
}
HOSTILE = [
    "</title></svg><script>alert(1)</script>",
    "\"'><image href='http://example.org/x.png'/>",
    "&amp;&#0;&lt;]]><![CDATA[",
    "a\x00b\x1b[31m\nc\td",
    "\u202egnp.exe\u2066",
    "\udc80\ud800",
    "\ufffe\uffff\U0010ffff",
    "漢字かな交じり文" * 40,
    "🙂‍👩‍👧" * 9,
    " ",
    "x" * 1_000_000,
]


def drawn(graph: Graph) -> ElementTree.Element:
    return ElementTree.fromstring(svg_text(graph).encode())


def titles(root: ElementTree.Element, kind: str) -> list[str]:
    """The tooltips of one kind of group."""
    groups = (group for group in root.iter(f"{SVG}g") if group.get("class") == kind)
    return [group.findtext(f"{SVG}title") or "" for group in groups]


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def check_well_formed(graph: Graph) -> None:
    text = svg_text(graph)
    root = ElementTree.fromstring(text.encode())
    assert root.tag == f"{SVG}svg"
    assert not re.search(r"[\"\s,(]-?(nan|inf)", text)
    used = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert used <= {"svg", "title", "style", "rect", "text", "g", "path"}
    style = root.findtext(f"{SVG}style") or ""
    assert "url(" not in style and "@import" not in style
    assert not any(name.endswith("href") or name.startswith("on") for element in root.iter() for name in element.attrib)


def used(region: Graph, value: Value) -> bool:
    return bool(region.uses(value)) or value in region.outputs


def check_complete(graph: Graph) -> None:
    """Each operator has one box, each end of each slot one port, named as in the graph."""
    root = drawn(graph)
    operators: Counter[str] = Counter()
    ports: Counter[tuple[str, str]] = Counter()
    frames = backs = 0
    for _, node in graph.walk():
        if is_loop(node):
            for entry in Loop(node).entries:
                kind = KINDS.get(type(entry.slot).__name__, "")
                ends = (
                    [] if not kind else [value for value in (entry.body_input, entry.body_output) if value is not None]
                )
                ports.update((kind, value.name) for value in ends)
                backs += kind in ("", "carried")
        elif node.regions:
            ports.update(("captured", value.name) for value in node.captures if value is not None)
            for region in node.regions.values():
                ports.update(
                    ("captured", value.name)
                    for value in region.inputs[len(region.inputs) - node.captured :]
                    if used(region, value)
                )
        frames += len(node.regions)
        if not node.regions:
            operators[", ".join(value.name for value in node.outputs if value.name)] += 1
    found = (re.findall(r"^output (.*?)(?:: .*)?$", title, re.M) for title in titles(root, "operator"))
    assert Counter(", ".join(names) for names in found) == operators
    shown: Counter[tuple[str, str]] = Counter()
    for kind in KINDS.values():
        for title in titles(root, kind):
            match = re.match(rf"(?:{kind}|concatenated)(?: axis \d+(?:, [^:]*)?)? (.*?)(?:: .*)?$", title, re.M)
            assert match, title
            shown[kind, match[1].split(" ")[-1]] += 1
    assert shown == ports
    assert len(titles(root, "back-edge")) == backs
    assert len(titles(root, "loop")) + len(titles(root, "region")) == frames


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_samples(path):
    graph = sample(path)
    check_well_formed(graph)
    check_complete(graph)


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(name):
    check_well_formed(GRAPHS[name]())


@pytest.mark.parametrize("name", ["chain", "every_slot", "pass_through", "nothing_out", "mapped", "nested", "skipping"])
def test_graphs_are_complete(name):
    check_complete(GRAPHS[name]())


def test_catalogue():
    for found in CASES:
        check_well_formed(case(found.name))


def test_slots_tell_how_they_slice_and_stack():
    root = drawn(every_slot())
    shown = texts(root)
    for text in (
        "sliced axis 0, reversed",
        "sliced axis 1, 0 to 6, 2 at a time",
        "stacked axis 0, reversed",
        "concatenated axis 1",
        "trip count",
        "goes on while",
        "→ last",
        "→ joined",
        "for, for each, while",
    ):
        assert text in shown
    assert titles(root, "trip") == ["trip count trip: int64[]"]
    assert titles(root, "condition") == ["condition on: bool[]", "goes on while on_next: bool[]"]


def test_types_and_small_constants_are_shown():
    graph = Graph("hub", "shown")
    x = graph.add_input("x", tensor("float32", "n", None))
    small, large = graph.add_constant([1.5, 2.0], "small"), graph.add_constant([[0.0] * 9] * 9, "large")
    node = graph.add_node("Sum", [x, small, large], [("y", tensor("float32", "n", 9))], version=13)
    graph.outputs.append(node.output)
    shown = texts(drawn(graph))
    for text in ("x", "float32[n, ?]", "Sum", "13", "[1.5, 2.]", "large", "float64[9, 9]", "float32[n, 9]"):
        assert text in shown
    assert shown.count("y") == 2  # the operator, the output
    assert "small" not in shown


def test_one_pill_for_each_use_of_a_small_constant():
    graph = Graph("hub")
    x, two = graph.add_input("x", F), graph.add_constant(2.0, "two")
    y = graph.add_node("Mul", [x, two], [("y", F)]).output
    graph.outputs.append(graph.add_node("Pow", [y, two], [("z", F)]).output)
    assert texts(drawn(graph)).count("2.") == 2


def test_empty_graph():
    root = drawn(Graph("hub", "void"))
    assert "an empty graph" in texts(root)
    assert "void" in texts(root)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names(name):
    graph = Graph("hub", name)
    x = graph.add_input(name, tensor("float32", name))
    body = Graph("hub", name)
    inner = body.add_input(name, F)
    body.outputs = [body.add_node(name, [inner, body.add_constant(name, name)], [(name, F)], {name: name}).output]
    loop = graph.add_node(
        "Loop",
        [None, None, x],
        [(name, F)],
        {"slots": (Carried(),)},
        domain="backedge",
        regions={"body": body},
        name=name,
    )
    y = graph.add_node("If", [x], [(name, F)], domain="backedge", regions={name: Graph("hub")}).output
    graph.outputs = [loop.output, y]
    check_well_formed(graph)
    text = svg_text(graph)
    assert len(text) < 60_000
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f]", text)


def test_the_same_picture_every_time():
    assert svg_text(every_slot()) == svg_text(every_slot())


def number(root: ElementTree.Element, pattern: str) -> list[int]:
    """The numbers in all texts that match."""
    found = (re.fullmatch(pattern, text.replace("\N{NO-BREAK SPACE}", "")) for text in texts(root))
    return [int(match[1]) for match in found if match]


def test_a_very_long_chain_is_summarised():
    graph = chain(20_000)
    text = svg_text(graph)
    root = ElementTree.fromstring(text)
    assert "20\N{NO-BREAK SPACE}000 operators, 19\N{NO-BREAK SPACE}994 of them not drawn" in texts(root)
    assert number(root, r"(\d+) operators") == [19_994]
    assert {"v0", "v19999"} <= set(texts(root))
    assert len(text) < 20_000


@pytest.mark.parametrize("make", [lambda: loops(3, slots=2, between=3_000), lambda: skipping(5_000)])
def test_hidden_and_drawn_are_all(make):
    graph = make()
    root = drawn(graph)
    frames = sum(len(titles(root, kind)) for kind in ("loop", "branches"))
    boxes = len(titles(root, "operator"))
    assert sum(number(root, r"(\d+) operators")) + frames + boxes == sum(1 for _ in graph.walk())


def test_all_loops_of_a_large_graph_are_drawn():
    root = drawn(loops(5, slots=2, between=4_000))
    assert len(titles(root, "loop")) == 5
    assert len(titles(root, "back-edge")) == 10
    assert number(root, r"(\d+) operators") == [3_996] * 4 + [3_995]


def test_a_large_body_is_summarised():
    root = drawn(loops(1, inside=5_000))
    assert len(titles(root, "back-edge")) == 1
    assert number(root, r"(\d+) operators") == [4_994]


def test_what_is_nested_too_deeply_is_counted():
    root = drawn(nested(40))
    assert number(root, r"(\d+) operators inside") == [32]
    assert len(titles(root, "loop")) == 8


def test_many_slots_share_a_port():
    root = drawn(loops(1, slots=100))
    assert len(titles(root, "back-edge")) == 47
    assert texts(root).count("… 53 more slots") == 2


def test_captured_slots_give_way_to_the_wiring():
    """Of a loop with 200 captured slots before a stacked one, the stacked one is drawn."""
    assert [title.split("\n")[0] for title in titles(drawn(GRAPHS["many_captured"]()), "stacked")] == [
        "stacked axis 0 s: float32[2]"
    ]


def test_write(tmp_path):
    path = tmp_path / "picture.svg"
    path.write_text("old")
    write_svg(every_slot(), path)
    ElementTree.parse(path)
    assert [file.name for file in tmp_path.iterdir()] == ["picture.svg"]
    other = tmp_path / "other"
    other.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(other.stat().st_mode)


def test_write_into_no_folder(tmp_path):
    with pytest.raises(InvalidModel, match=r"picture\.svg: no such folder"):
        write_svg(chain(1), tmp_path / "missing" / "picture.svg")


def test_write_onto_a_folder(tmp_path):
    (tmp_path / "picture.svg").mkdir()
    with pytest.raises(InvalidModel, match=r"^[^\n]*picture\.svg[^\n]*$"):
        write_svg(chain(1), tmp_path / "picture.svg")
    assert [file.name for file in tmp_path.iterdir()] == ["picture.svg"]


def test_command(tmp_path):
    path = tmp_path / "picture.svg"
    source = Path(SAMPLES[0])
    with pytest.raises(SystemExit) as done:
        main(["show", str(source), "--svg", str(path)])
    assert done.value.code == 0
    assert ElementTree.parse(path).getroot().tag == f"{SVG}svg"


def test_shared_prefix_of_wires_is_drawn_for_every_user():
    """A value used in several layers reaches all of its users: as many arrowheads as uses."""
    graph = Graph("hub")
    x = graph.add_input("x", F)
    y = neg(graph, x, "y")
    for index in range(3):
        y = graph.add_node("Add", [y, x], [(f"y{index}", F)]).output
    graph.outputs = [y, x]
    root = drawn(graph)
    assert sum(path.get("class") == "tip" for path in root.iter(f"{SVG}path")) == 1 + 3 * 2 + 2
