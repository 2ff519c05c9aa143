"""Hub graphs to draw: the samples, the catalogue, and graphs that no model would have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from backedge.convert.files import load, to_hub
from backedge.convert.onnx.read import read_model
from backedge.passes.graph import Graph, Value
from backedge.passes.loop import Captured, Carried, Condition, Iteration, Sliced, Stacked
from backedge.passes.types import tensor
from control_flow.cases import BY_NAME

SAMPLES = sorted(path for path in (Path(__file__).parents[2] / "samples").iterdir() if path.suffix in (".onnx", ".xml"))
F = tensor("float32", 2)
ONE = tensor("float32")
TRUTH = tensor("bool")


def sample(path: Path) -> Graph:
    return to_hub(load(path))


def case(name: str) -> Graph:
    return to_hub(read_model(BY_NAME[name].model()))


def neg(graph: Graph, x: Value, name: str) -> Value:
    return graph.add_node("Neg", [x], [(name, F)]).output


def chain(count: int) -> Graph:
    graph = Graph("hub", "chain")
    x = graph.add_input("x", F)
    for index in range(count):
        x = neg(graph, x, f"v{index}")
    graph.outputs.append(x)
    return graph


def add_loop(
    graph: Graph, inputs: list[Value | None], body: Graph, slots: list[Any], results: list[str]
) -> list[Value]:
    outputs = [(name, F) for name in results]
    node = graph.add_node("Loop", inputs, outputs, {"slots": tuple(slots)}, domain="backedge", regions={"body": body})
    return node.outputs


def every_slot() -> Graph:
    """One slot of each kind, sliced and stacked backwards and forwards, the condition seen by the body."""
    graph = Graph("hub", "every_slot")
    start, trip, go = (
        graph.add_input("start", F),
        graph.add_input("trip", tensor("int64")),
        graph.add_input("go", TRUTH),
    )
    rows, columns = (
        graph.add_input("rows", tensor("float32", "n", 2)),
        graph.add_input("columns", tensor("float32", 2, 6)),
    )
    far = graph.add_input("far", F)
    body = Graph("hub", "body")
    state, row, column = (body.add_input(name, F) for name in ("state", "row", "column"))
    near, i, on = body.add_input("near", F), body.add_input("i", tensor("int64")), body.add_input("on", TRUTH)
    state_next = body.add_node("Sum", [state, row, column, near], [("state_next", F)]).output
    on_next = body.add_node("Not", [on], [("on_next", TRUTH)]).output
    counted = body.add_node("Cast", [i], [("counted", F)], {"to": 1}).output
    body.outputs = [state_next, state_next, counted, on_next]
    slots = [
        Carried(),
        Sliced(axis=0, start=-1, end=0, stride=-1),
        Sliced(axis=1, start=0, end=6, stride=2, part=2),
        Captured(),
        Iteration(),
        Stacked(axis=0, reverse=True),
        Stacked(axis=1, part=-1),
        Condition(body_input=True),
    ]
    graph.outputs = add_loop(graph, [trip, go, start, rows, columns, far], body, slots, ["last", "backwards", "joined"])
    return graph


def loops(count: int, inside: int = 2, slots: int = 1, between: int = 0) -> Graph:
    """Loops one after the other: `inside` operators for each of their carried slots, `between` two loops others."""
    graph = Graph("hub", "loops")
    x = graph.add_input("x", F)
    for number in range(count):
        body = Graph("hub", "body")
        for slot in range(slots):
            value = body.add_input(f"in{number}_{slot}", F)
            for index in range(inside):
                value = neg(body, value, f"b{number}_{slot}_{index}")
            body.outputs.append(value)
        results = [f"r{number}_{slot}" for slot in range(slots)]
        x = add_loop(graph, [graph.add_constant(3), None, *[x] * slots], body, [Carried()] * slots, results)[0]
        for index in range(between):
            x = neg(graph, x, f"m{number}_{index}")
    graph.outputs.append(x)
    return graph


def nested(depth: int) -> Graph:
    """Loops in loops, only the innermost body does something."""
    outer = graph = Graph("hub", "nested")
    x = graph.add_input("x", F)
    waiting = []
    for level in range(depth):
        body = Graph("hub", "body")
        waiting.append((graph, x, body))
        graph, x = body, body.add_input(f"i{level}", F)
    graph.outputs.append(neg(graph, x, "deep"))
    for level, (around, start, body) in reversed(list(enumerate(waiting))):
        trip = around.add_constant(3, f"trip{level}")
        around.outputs = add_loop(around, [trip, None, start], body, [Carried()], [f"r{level}"])
    return outer


def pass_through() -> Graph:
    """Loops without operators: a body that hands on what it gets, constants, and two that swap places."""
    graph = Graph("hub", "pass_through")
    x, y = graph.add_input("x", F), graph.add_input("y", F)
    body = Graph("hub", "body")
    a, b = body.add_input("a", F), body.add_input("b", F)
    body.outputs = [b, a, body.add_constant([1.0, 2.0], "k"), body.add_constant(True, "on")]
    slots = [Carried(), Carried(), Stacked(), Condition()]
    graph.outputs = [*add_loop(graph, [None, None, x, y], body, slots, ["last_a", "last_b", "ks"]), x, x]
    return graph


def nothing_out() -> Graph:
    """A loop without slots, and an If without captured values or results."""
    graph = Graph("hub", "nothing_out")
    add_loop(graph, [graph.add_input("n", tensor("int64")), None], Graph("hub", "body"), [], [])
    regions = {name: Graph("hub", name) for name in ("then", "else")}
    graph.add_node("If", [graph.add_input("c", TRUTH)], [], domain="backedge", regions=regions)
    return graph


def mapped() -> Graph:
    """An operator with a region that is no loop: its body takes an element and a captured value."""
    graph = Graph("hub", "mapped")
    items, other = graph.add_input("items"), graph.add_input("other", F)
    body = Graph("hub", "body")
    item, captured = body.add_input("item", F), body.add_input("captured", F)
    body.outputs = [body.add_node("Add", [item, captured], [("total", F)]).output]
    node = graph.add_node("SequenceMap", [items, other], [("mapped", None)], regions={"body": body}, captured=1)
    graph.outputs = [node.output]
    return graph


def many_captured(count: int) -> Graph:
    """An If with very many captured values and results, and a loop that captures very many constants."""
    graph = Graph("hub", "many_captured")
    inputs = [graph.add_input(f"x{index}", F) for index in range(count)]
    regions = {}
    for name in ("then", "else"):
        region = regions[name] = Graph("hub", name)
        region.outputs = [region.add_input(f"{name}{index}", F) for index in range(count)]
    results = [(f"y{index}", F) for index in range(count)]
    condition = graph.add_input("c", TRUTH)
    node = graph.add_node("If", [condition, *inputs], results, domain="backedge", regions=regions, captured=count)
    body = Graph("hub", "body")
    body.outputs = [body.add_node("Sum", [body.add_input(f"k{index}", F) for index in range(count)], [("s", F)]).output]
    constants = [graph.add_constant([float(index)]) for index in range(count)]
    stacked = add_loop(graph, [condition, None, *constants], body, [Captured()] * count + [Stacked()], ["sums"])
    graph.outputs = [*node.outputs, *stacked]
    return graph


def wide(count: int) -> Graph:
    """One operator with very many inputs and constants."""
    graph = Graph("hub", "wide")
    inputs = [graph.add_input(f"x{index}", F) for index in range(count)]
    constants = [graph.add_constant([float(index)], f"c{index}") for index in range(count)]
    node = graph.add_node("Concat", inputs + constants, [("y", F)], {"axis": 0})
    graph.outputs = [node.output, *inputs]
    return graph


def scattered(count: int) -> Graph:
    """Operators that have nothing to do with one another."""
    graph = Graph("hub", "scattered")
    for index in range(count):
        graph.add_node("RandomNormal", [], [(f"y{index}", F)], {"shape": [2]})
    return graph


def skipping(count: int, seed: int = 3) -> Graph:
    """A chain in which every operator also uses some earlier value."""
    graph = Graph("hub", "skipping")
    values = [graph.add_input("x", F)]
    for index in range(count):
        seed = seed * 75 % 65537
        earlier = values[seed % len(values)]
        values.append(graph.add_node("Add", [values[-1], earlier], [(f"v{index}", F)]).output)
    graph.outputs.append(values[-1])
    return graph


GRAPHS: dict[str, Callable[[], Graph]] = {
    "empty": lambda: Graph("hub", ""),
    "chain": lambda: chain(30),
    "every_slot": every_slot,
    "pass_through": pass_through,
    "nothing_out": nothing_out,
    "mapped": mapped,
    "many_slots": lambda: loops(1, slots=70),
    "many_loops": lambda: loops(900),
    "large_between": lambda: loops(4, slots=2, between=400),
    "large_inside": lambda: loops(2, inside=900),
    "nested": lambda: nested(6),
    "deeply_nested": lambda: nested(40),
    "many_captured": lambda: many_captured(200),
    "wide": lambda: wide(300),
    "scattered": lambda: scattered(300),
    "more_scattered": lambda: scattered(900),
    "skipping": lambda: skipping(150),
}
