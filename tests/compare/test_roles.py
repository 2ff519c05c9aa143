"""Roles found in hub graphs that are built by hand."""

import numpy as np
import pytest
from backedge.passes.graph import Graph, Value
from backedge.passes.loop import Captured, Carried, Condition, Iteration, Sliced, Stacked
from backedge.passes.types import tensor
from backedge.runtime.compare.input_roles import random_operators, signature_of
from backedge.runtime.compare.iterations import Stacking, made_of_stacks, stackings

BOOL, INT, FLOAT = tensor("bool"), tensor("int64"), tensor("float32")


def node(graph, op, *inputs, type=None, **attributes):
    return graph.add_node(op, list(inputs), [(f"{op}_{len(graph)}_{id(graph)}", type)], attributes).outputs[0]


def loop(graph, slots, trip, condition, outside, build):
    """A canonical Loop: `build(body, values) -> body outputs`."""
    body = Graph("hub", "body")
    kinds = {Iteration: INT, Condition: BOOL}
    entering = [slot for slot in slots if not isinstance(slot, Stacked) and slot != Condition(body_input=False)]
    sources = iter(outside)
    values = []
    for k, slot in enumerate(entering):
        kind = kinds.get(type(slot)) or next(sources).type
        values.append(body.add_input(f"in{k}_{id(body)}", kind))
    body.outputs = list(build(body, *values))
    results = [slot for slot in slots if isinstance(slot, Carried | Stacked)]
    made = graph.add_node(
        "Loop",
        [trip, condition, *outside],
        [(f"out{k}_{id(body)}", None) for k in range(len(results))],
        {"slots": tuple(slots)},
        domain="backedge",
        regions={"body": body},
    )
    return made.outputs


def branch(graph, condition, captured, then, other):
    regions = {}
    for name, build in (("then", then), ("else", other)):
        region = Graph("hub", name)
        inner = [region.add_input(f"{name}{k}_{id(region)}", value.type) for k, value in enumerate(captured)]
        region.outputs = [build(region, *inner)]
        regions[name] = region
    made = graph.add_node(
        "If", [condition, *captured], [("chosen", None)], domain="backedge", regions=regions, captured=len(captured)
    )
    return made.outputs[0]


def roles(graph, *outputs: Value):
    graph.outputs.extend(outputs)
    return {spec.name: spec for spec in signature_of(graph).inputs}


def test_trip_and_condition_of_a_loop():
    g = Graph("hub")
    m, go, x = g.add_input("m", tensor("int32")), g.add_input("go", BOOL), g.add_input("x", FLOAT)
    trip = node(g, "Cast", node(g, "Add", m, g.add_constant(np.int64(2)), type=INT), type=INT)
    slots = [Condition(True), Carried()]
    out = loop(g, slots, trip, node(g, "Not", go), [x], lambda b, c, a: (c, node(b, "Neg", a)))
    found = roles(g, out[0])
    assert (found["m"].role, found["m"].lower) == ("trip", -1)
    assert (found["go"].role, found["go"].gate) == ("condition", True)
    assert found["x"].role == "data"


def test_a_threshold_inside_a_body_reaches_the_captured_and_the_carried_value():
    g = Graph("hub")
    x, y = g.add_input("x", FLOAT), g.add_input("y", FLOAT)
    limit = g.add_constant(np.float32(7))

    def body(b, a, outer, lim):
        twice = node(b, "Mul", a, b.add_constant(np.float32(2)))
        go = node(b, "And", node(b, "Less", twice, lim), node(b, "Greater", outer, b.add_constant(np.float32(1))))
        return node(b, "Neg", a), go

    out = loop(g, [Carried(), Captured(), Captured(), Condition()], None, None, [x, y, limit], body)
    found = roles(g, out[0])
    assert found["x"].role == found["y"].role == "data"
    assert 3.5 in found["x"].constants and 7.0 not in found["x"].constants
    assert 1.0 in found["y"].constants


def test_an_integer_that_ends_a_while_loop_is_a_trip_count():
    g = Graph("hub")
    n, x = g.add_input("n", INT), g.add_input("x", FLOAT)

    def body(b, i, a, last):
        return node(b, "Neg", a), node(b, "Less", i, last)

    out = loop(g, [Iteration(), Carried(), Captured(), Condition()], None, None, [x, n], body)
    found = roles(g, out[0])
    assert found["n"].role == "trip"
    assert found["x"].role == "data"


def test_sliced_values_are_followed():
    g = Graph("hub")
    flags = g.add_input("flags", tensor("bool", 5))
    x = g.add_input("x", FLOAT)
    slots = [Sliced(), Carried(), Condition()]
    out = loop(g, slots, None, None, [flags, x], lambda b, flag, a: (node(b, "Neg", a), node(b, "Identity", flag)))
    assert roles(g, out[0])["flags"].role == "condition"


def test_conditions_of_an_if_and_what_an_if_hands_on():
    g = Graph("hub")
    p, k, m, x = (g.add_input(name, kind) for name, kind in (("p", BOOL), ("k", INT), ("m", INT), ("x", FLOAT)))
    chosen = branch(g, p, [m, k], lambda r, a, b: a, lambda r, a, b: node(r, "Sub", b, r.add_constant(np.int64(1))))
    equal = node(g, "Equal", k, g.add_constant(np.int64(4)), type=BOOL)
    branch(g, equal, [], lambda r: r.add_constant(1.0), lambda r: r.add_constant(2.0))
    out = loop(g, [Carried()], chosen, None, [x], lambda b, a: (node(b, "Neg", a),))
    found = roles(g, out[0])
    assert (found["p"].role, found["p"].gate) == ("condition", False)
    assert found["m"].role == "trip"
    assert found["k"].role == "trip" and 4.0 in found["k"].constants


@pytest.mark.parametrize(
    ("op", "data", "attributes", "bound"),
    [
        ("Gather", tensor("float32", 7, "N"), {}, 7),
        ("Gather", tensor("float32", 7, "N"), {"axis": 1}, "N"),
        ("Gather", tensor("float32", 7, "N"), {"axis": -2}, 7),
        ("Gather", tensor("float32", None), {}, None),
        ("GatherElements", tensor("float32", 2, 5), {"axis": 1}, 5),
        ("GatherND", tensor("float32", 4, 3, 9), {}, 3),
        ("GatherND", tensor("float32", 4, 3, 9), {"batch_dims": 1}, 3),
        ("GatherND", tensor("float32", 9, 3, 6), {"batch_dims": 0}, 3),
    ],
)
def test_indices_are_bounded_by_what_they_index(op, data, attributes, bound):
    g = Graph("hub")
    x, i = g.add_input("x", data), g.add_input("i", tensor("int64", 4, 2))
    found = roles(g, node(g, op, x, node(g, "Cast", i, type=tensor("int64", 4, 2)), **attributes))
    assert (found["i"].role, found["i"].bound, found["i"].wrap) == ("index", bound, True)


def test_the_tightest_of_two_bounds_counts():
    g = Graph("hub")
    i = g.add_input("i", tensor("int64", 4))
    tables = [g.add_constant(np.zeros((rows, 2), np.float32)) for rows in (9, 4)]
    found = roles(g, *(node(g, "Gather", table, i) for table in tables))
    assert found["i"].bound == 4


def test_shapes_counts_and_axes():
    g = Graph("hub")
    x = g.add_input("x", tensor("float32", "N", 3))
    s, e, k, n, axis = (g.add_input(name, tensor("int64", 1)) for name in ("s", "e", "k", "n", "axis"))
    made = [
        node(g, "Reshape", x, s),
        node(g, "Expand", x, e),
        node(g, "TopK", x, k),
        node(g, "ReduceSum", x, axis),
        node(g, "Range", g.add_constant(np.int64(0)), node(g, "Squeeze", n), g.add_constant(np.int64(1))),
    ]
    found = roles(g, *made)
    assert (found["s"].role, found["s"].lower) == ("shape", None)
    assert (found["e"].role, found["e"].lower) == ("shape", 1)
    assert (found["k"].role, found["k"].lower, found["k"].bound) == ("index", 1, 3)  # 1 to 3
    assert (found["axis"].role, found["axis"].bound) == ("index", 2)
    assert found["n"].role == "trip"


def test_operands_that_only_some_values_make_sense_for():
    g = Graph("hub")
    x, w = g.add_input("x", tensor("float32", "T", "B", 4)), g.add_constant(np.zeros((1, 8, 4), np.float32))
    lengths, scales = g.add_input("lens", tensor("int32", "B")), g.add_input("scales", tensor("float32", 3))
    training, shift = g.add_input("training", BOOL), g.add_input("shift", tensor("uint8", 3))
    base, power = g.add_input("base", INT), g.add_input("power", INT)
    made = [
        node(g, "LSTM", x, w, w, None, lengths, hidden_size=2),
        node(g, "Resize", x, None, scales),
        node(g, "Dropout", x, None, training),
        node(g, "BitShift", shift, shift),
        node(g, "Pow", base, power),
    ]
    found = roles(g, *made)
    assert (found["lens"].role, found["lens"].lower, found["lens"].bound, found["lens"].wrap) == (
        "index",
        1,
        "T",
        False,
    )
    assert (found["scales"].role, found["scales"].lower, found["scales"].upper) == ("data", 0.5, 3)
    assert found["training"].upper == 0
    assert (found["shift"].lower, found["shift"].upper) == (0, 7)
    assert (found["power"].lower, found["base"].lower) == (0, None)


def test_integer_divisors_must_not_be_zero():
    g = Graph("hub")
    a, b, c, d = (g.add_input(name, INT if name < "c" else FLOAT) for name in "abcd")
    found = roles(g, node(g, "Div", a, b), node(g, "Div", c, d))
    assert [found[name].nonzero for name in "abcd"] == [False, True, False, False]


@pytest.mark.parametrize(
    ("op", "first", "expected"),
    [("Add", True, 8.0), ("Sub", True, 12.0), ("Sub", False, -8.0), ("Mul", True, 5.0), ("Div", True, 20.0)],
)
def test_thresholds_are_turned_back_through_arithmetic(op, first, expected):
    g = Graph("hub")
    x, two = g.add_input("x", FLOAT), g.add_constant(np.float32(2))
    value = node(g, op, x, two) if first else node(g, op, two, x)
    found = roles(g, node(g, "Greater", value, g.add_constant(np.float32(10))))
    assert found["x"].constants == (expected,)


def test_strings_clips_and_tables():
    g = Graph("hub")
    s, x = g.add_input("s", tensor("string", 2)), g.add_input("x", FLOAT)
    equal = node(g, "Equal", s, g.add_constant(np.array(["stop"], object)))
    clip = node(g, "Clip", x, g.add_constant(np.float32(-1.5)), g.add_constant(np.float32(6)))
    table = node(g, "Max", x, g.add_constant(np.arange(100.0)))
    found = roles(g, equal, clip, table)
    assert found["s"].constants == ("stop",)
    assert found["x"].constants == (-1.5, 6.0)


def test_infinite_constants_are_no_thresholds():
    g = Graph("hub")
    x = g.add_input("x", FLOAT)
    assert roles(g, node(g, "Less", x, g.add_constant(np.float32(np.inf))))["x"].constants == ()


def test_an_input_with_a_default():
    g = Graph("hub")
    w = g.add_input("w", FLOAT)
    w.data = g.add_constant(np.float32(3)).data
    assert roles(g, node(g, "Neg", w))["w"].default == 3


def test_which_outputs_are_stacked():
    g = Graph("hub")
    m, x = g.add_input("m", INT), g.add_input("x", FLOAT)
    slots = [Carried(), Stacked(axis=1, reverse=True), Stacked(part=2), Stacked(part=-1)]
    outs = loop(g, slots, m, None, [x], lambda b, a: (node(b, "Neg", a), a, a, a))
    g.outputs = [*outs[:3], node(g, "Identity", outs[3]), x]
    found = stackings(g)
    assert [found.get(value.name) for value in g.outputs] == [
        None,
        Stacking(1, True, 1),
        Stacking(0, False, 2),
        Stacking(0, False, -1),
        None,
    ]
    assert Stacking(0, False, -1).iteration(3, 5) is None


def test_what_is_made_of_stacks():
    """A stack itself, what is computed of it, and what a loop carries that began as one or that holds another loop."""
    g = Graph("hub")
    m, x = g.add_input("m", INT), g.add_input("x", FLOAT)
    last, stack = loop(g, [Carried(), Stacked()], m, None, [x], lambda b, a: (node(b, "Neg", a), a))
    (carried,) = loop(g, [Carried()], m, None, [stack], lambda b, a: (node(b, "Neg", a),))

    def inner(b, a):
        return (
            node(
                b,
                "Size",
                loop(b, [Stacked()], b.add_constant(np.int64(2)), None, [], lambda r: (r.add_constant(np.float32(1)),))[
                    0
                ],
            ),
        )

    (nested,) = loop(g, [Carried()], m, None, [m], inner)
    g.outputs = [last, stack, node(g, "Neg", stack), carried, nested, node(g, "Neg", last), x]
    assert made_of_stacks(g) == {value.name for value in g.outputs[1:5]}


def test_operators_that_draw_random_numbers():
    g = Graph("hub")
    p, x = g.add_input("p", BOOL), g.add_input("x", tensor("float32", 3))
    on, off = g.add_constant(np.True_), g.add_constant(np.False_)
    node(g, "Dropout", x, None, off)
    node(g, "Dropout", x)
    assert random_operators(g) == []
    node(g, "Dropout", x, None, on)
    branch(g, p, [x], lambda r, v: node(r, "RandomNormalLike", v), lambda r, v: node(r, "Neg", v))
    assert random_operators(g) == ["Dropout", "RandomNormalLike"]


def test_weights_that_are_no_numbers_lead_nowhere(recwarn):
    """Thresholds are led back through sums of weights; these have none but 0."""
    graph = Graph("hub")
    x = graph.add_input("x", tensor("float32", 2, 2))
    weights = graph.add_constant(np.float32([[np.inf, np.nan, 0], [-np.inf, 1, 0]]), "w")
    product = node(graph, "MatMul", x, weights, type=FLOAT)
    graph.outputs.append(node(graph, "Less", product, graph.add_constant(np.float32(3), "k"), type=BOOL))
    (spec,) = signature_of(graph).inputs
    assert not spec.constants and not recwarn.list


def test_thresholds_through_many_constants_of_elements_are_few():
    """Each of four elements makes four thresholds of one: 4 to the 40 of them."""
    graph = Graph("hub")
    x = value = graph.add_input("x", tensor("float32", 4))
    addends = graph.add_constant(np.float32([0.5, 1, 2, 4]), "k")
    for _ in range(40):
        value = node(graph, "Add", value, addends, type=x.type)
    graph.outputs.append(node(graph, "Less", value, graph.add_constant(np.float32(3), "limit"), type=BOOL))
    (spec,) = signature_of(graph).inputs
    assert spec.constants[0] == 3 - 40 * 0.5
    assert len(set(spec.constants)) == len(spec.constants) <= 64
    assert {3 - 39 * 0.5 - last for last in (0.5, 1, 2, 4)} <= set(spec.constants)
