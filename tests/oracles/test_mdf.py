"""MDF's own engine as an oracle: its numbers for its own examples, what it is kept from, what isn't its fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from backedge.convert.mdf.raising.numpy.calls import MATH, NUMPY, PYTHON
from backedge.passes.errors import InvalidModel
from backedge.passes.types import DType
from backedge.runtime.oracles import Outcome, mdf_faults, mdf_guard, run_file
from backedge.runtime.oracles.mdf_names import first_graph, interface
from backedge.runtime.oracles.mdf_session import cast, read_tree, to_array
from backedge.runtime.oracles.mdf_syntax import MEMBERS, METHODS
from mdf.examples import EXAMPLES


def model(nodes: Any, edges: Any = None, **graph: Any) -> dict[str, Any]:
    return {"m": {"graphs": {"g": {"nodes": nodes, "edges": edges or {}, **graph}}}}


def edge(sender: str, receiver: str, port: str = "x", **parameters: Any) -> dict[str, Any]:
    return {
        "sender": sender,
        "sender_port": "out",
        "receiver": receiver,
        "receiver_port": port,
        "parameters": parameters,
    }


def run(tmp_path: Path, tree: Any, *batches: Any, **options: Any) -> list[Outcome]:
    pytest.importorskip("modeci_mdf")
    file = tmp_path / "m.json"
    file.write_text(json.dumps(tree))
    return run_file("mdf", file, batches or [{}], options=options)


def plain(outcome: Outcome) -> dict[str, Any]:
    assert outcome.outputs is not None, outcome.error
    return {name: value.tolist() for name, value in outcome.outputs.items()}


# the engine's own examples --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "feeds", "expected"),
    [
        ("Simple", {}, {"output_1": 0.6016871801828567}),
        ("Arrays", {}, {"output_1": [[0.5, 1], [2, 4]]}),
        ("threshold", {}, {"output_1": 5}),
        ("everyncalls", {}, {"output_1": [0.0], "param_A": 6, "param_B": 3, "param_C": 1}),
        (
            "NewtonCoolingModel",
            {"steps": 100, "time_increment": 0.1},
            {"out_port": 45.62226388912605, "out_port2": -2.5622263889126056},
        ),
        ("ab", {"input": [[1.0] * 3] * 2}, {"_4": [[10.0] * 3] * 2}),
    ],
)
def test_examples(tmp_path: Path, name: str, feeds: dict[str, Any], expected: dict[str, Any]) -> None:
    [found] = run(tmp_path, EXAMPLES[name], {one: np.array(value) for one, value in feeds.items()})
    given = plain(found)
    assert given.keys() == expected.keys()
    assert all(np.allclose(given[one], value, rtol=1e-12, atol=0) for one, value in expected.items())
    assert found.fault == "" and found.coarse == (name == "ab")


def test_every_run_starts_anew(tmp_path: Path) -> None:
    more = {"steps": np.array(200), "time_increment": np.array(0.01)}
    found = run(tmp_path, EXAMPLES["States"], {}, more, {}, {"steps": np.array([2])})
    assert [plain(one)["counter_node.out_port"] for one in found] == [1, 201, 1, 3]
    assert plain(found[1])["sine_node.out_port"] == pytest.approx(0.09744396935877586, rel=1e-12)


@pytest.mark.parametrize("suffix", ["yaml", "yml", "bson"])
def test_containers(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("modeci_mdf")
    bson = pytest.importorskip("bson")
    file = tmp_path / f"m.{suffix}"
    tree = model({"a": {"parameters": {"s": {"value": "s + 2"}}}})
    file.write_bytes(bson.encode(tree) if suffix == "bson" else yaml.safe_dump(tree).encode())
    assert read_tree(file) == tree
    [found] = run_file("mdf", file, [{"steps": np.array(2)}])
    assert plain(found) == {"s": 6}


# inputs and outputs ---------------------------------------------------------------------------------


def test_inputs_are_set_by_port_and_consumed_once(tmp_path: Path) -> None:
    """`x` of b is fed by an edge, whatever is fed to the input `x`; the second pass sees the default again."""
    a = {
        "input_ports": {"x": {"default_value": 10.0}},
        "parameters": {"s": {"value": "s + x"}},
        "output_ports": {"out": {"value": "s"}},
    }
    b = {"input_ports": {"x": {}, "y": {"shape": [2]}}, "output_ports": {"out": {"value": "100 * x + y"}}}
    tree = model({"a": a, "b": b}, {"e": edge("a", "b", "x")})
    x, y = np.array(2.0), np.array([0.5, 0.25])
    [one, by_place, two, none] = run(
        tmp_path, tree, {"x": x}, {"p": x, "q": y}, {"x": x, "y": y, "steps": np.array(1)}, {}
    )
    assert plain(one) == {"out": [200.0, 200.0], "s": 2}
    assert plain(by_place) == {"out": [200.5, 200.25], "s": 2}
    assert plain(two) == {"out": [1200.0, 1200.0], "s": 12}
    assert plain(none) == {"out": [1000.0, 1000.0], "s": 10}


def test_a_node_that_never_ran(tmp_path: Path) -> None:
    ends = {"type": "Threshold", "kwargs": {"dependency": "a", "parameter": "s", "threshold": 0, "comparator": ">="}}
    parameters = {"s": {"value": "s + 1", "default_initial_value": 0}}
    tree = model({"a": {"parameters": parameters}}, conditions={"termination": {"environment_state_update": ends}})
    [found] = run(tmp_path, tree)
    assert found.stage == "run" and found.error == "output 's': node 'a' never ran"


def test_wrong_feeds(tmp_path: Path) -> None:
    tree = model({"a": {"input_ports": {"x": {}}, "output_ports": {"out": {"value": "x"}}}})
    found = run(tmp_path, tree, {"x": np.array("text", object)}, {"y": np.array(1), "z": np.array(2)})
    assert [one.error for one in found] == [
        "input 'x': MDF's ports take numbers only",
        "the model has no input 'y'; its inputs are 'x'",
    ]


def test_stated_element_types(tmp_path: Path) -> None:
    ports = {"float": {"value": "x / 3"}, "int": {"value": "7"}, "bool": {"value": "x > 0"}, "none": {"value": "x"}}
    tree = model({"a": {"input_ports": {"x": {}}, "output_ports": ports}})
    entries = [{"name": name, "node": "a", "port": name, "type": f"{name}32"} for name in ("float", "int")]
    entries += [{"name": name, "node": "a", "port": name} for name in ("bool", "none")]
    tree["m"]["metadata"] = {"backedge": {"inputs": [{"name": "in", "node": "a", "port": "x"}], "outputs": entries}}
    [found] = run(tmp_path, tree, {"in": np.array(1.0)}, types={"bool": "float16", "int": "int8"})
    assert found.outputs is not None
    assert {name: value.dtype.name for name, value in found.outputs.items()} == {
        "float": "float32",
        "int": "int32",
        "bool": "float16",
        "none": "float64",
    }
    assert found.outputs["float"] == np.float32(1 / 3) and found.outputs["int"] == 7


BEYOND = "MDF's engine computes {} in int64, and this run has numbers beyond it"


@pytest.mark.parametrize(
    ("array", "wanted", "expected", "fault"),
    [
        ([1.0, 0.0], "bool", np.array([True, False]), ""),
        ([1.0, 2.0], "bool", np.array([1.0, 2.0]), ""),
        ([1.5], "int64", np.array([1.5]), ""),
        ([-3.0], "int16", np.array([-3], np.int16), ""),
        ([np.nan, 2.0], "int32", np.array([np.nan, 2.0]), ""),
        ([1e30], "int64", np.array([1e30]), ""),
        ([-1.0], "uint8", np.array([-1.0]), ""),
        ([1e300, np.nan], "float32", np.array([np.inf, np.nan], np.float32), ""),
        ([0.1], "float16", np.array([0.1], np.float16), ""),
        ([300], "uint8", np.array([300]), BEYOND.format("uint8")),
        ([2**31], "int32", np.array([2**31]), BEYOND.format("int32")),
        ([-(2**31)], "int32", np.array([-(2**31)], np.int32), ""),
        ([True], "int64", np.array([1]), ""),
        ([3], "float64", np.array([3.0]), ""),
        (["a"], "int64", np.array(["a"]), ""),
    ],
)
def test_cast(array: list[Any], wanted: str, expected: np.ndarray[Any, Any], fault: str) -> None:
    made, found = cast(np.array(array), DType(wanted))
    assert found == fault
    np.testing.assert_array_equal(made, expected, strict=True)


@pytest.mark.parametrize("value", [None, "text", {}, (1, 2), [[1], [2, 3]], 2**70, [{}]])
def test_results_that_are_no_arrays(value: Any) -> None:
    with pytest.raises(TypeError, match="output 'y'"):
        to_array(value, "y")


def test_results() -> None:
    assert to_array(True, "y").dtype == bool and to_array(3, "y").dtype == np.int64
    assert to_array([1, 2.5], "y").tolist() == [1.0, 2.5] and to_array(1.0, "y").dtype == np.float64
    assert to_array(np.array(["a"]), "y").dtype == object


# what it is kept from -------------------------------------------------------------------------------

HOSTILE = [
    "__import__('os').system('true')",
    "__import__",
    "__ｉmport__",
    "open('x', 'w')",
    "eval('1')",
    "getattr(numpy, 'load')('x')",
    "numpy.load('x')",
    "numpy.lib.npyio.load('x')",
    "numpy.f2py.compile('x')",
    "numpy.__loader__",
    "math.__loader__.load_module('os')",
    "x.__class__",
    "x.tofile('x')",
    "(1).real",
    "x.view('O')",
    "x.dump('x')",
    "x.T.base",
    "x.sum",
    "x.__array__()",
    "numpy.sum(x).tofile('x')",
    "numpy.random.mtrand.sum()",
    "[numpy][0].sum()",
    "(open('x')).sum()",
    "numpy",
    "[numpy][0]",
    "numpy.exp",
    "numpy.exp.reduce(x)",
    "[c for c in x]",
    "(lambda: 1)()",
    "(y := 1)",
    "f'{x}'",
    "abs(*x)",
    "actr.retrieve_chunk(x)",
    "onnx_ops.import_class(x)",
    "ｏｐｅｎ('x', 'w')",
    "x if numpy.fromfile('x') else 1",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_expressions(text: str) -> None:
    with pytest.raises(InvalidModel):
        mdf_guard.evaluate(text, {"x": np.ones(2), "numpy": np})
    for node in (
        {"parameters": {"p": {"value": text}}},
        {"parameters": [{"id": "p", "default_initial_value": text}]},
        {"parameters": {"p": {"time_derivative": text}}},
        {"parameters": {"p": {"function": "linear", "args": {"slope": text}}}},
        {"parameters": {"p": {"conditions": {"c": {"test": text, "value": 1}}}}},
        {"parameters": {"p": {"conditions": [{"id": "c", "test": True, "value": text}]}}},
        {"functions": {"f": {"function": {"linear": {"slope": text}}}}},
        {"functions": {"f": {"value": text}}},
        {"input_ports": {"x": {"default_value": text}}},
        {"output_ports": {"y": {"value": text}}},
    ):
        with pytest.raises(InvalidModel, match="node 'a'"):
            mdf_guard.check_texts({"nodes": {"a": node}})


@pytest.mark.parametrize("function", ["open('x')", "os.system", "", ["linear"], 3, "actr.x", "onnx::Add(x)"])
def test_hostile_functions(function: Any) -> None:
    with pytest.raises(InvalidModel, match="no function's name"):
        mdf_guard.check_texts({"nodes": {"a": {"parameters": {"p": {"function": function}}}}})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2*x[0] + numpy.sum(x)", 8.0),
        (" -x[1]**2 % 3", 2.0),
        ("1 if x[0] > 0 and not False else 0", 1),
        ("numpy.linalg.norm([3, 4])", 5.0),
        ("math.floor(math.pi)", 3),
        ("max(1, len(x), key=int)", 2),
        ("numpy.array([1, 2], dtype='int8').sum", None),
        ("numpy.zeros((2, 2), dtype=numpy.int64)[0, :][1]", 0),
        ("input + 1", 8),  # a port's name may be a builtin's
        ("007", 7),
        ("x.sum() + numpy.array([[1, 2]]).T.shape[0]", 6.0),
        ("(x * 2).reshape((2, 1)).max().item()", 4.0),
    ],
)
def test_plain_expressions(text: str, expected: Any) -> None:
    names = {"x": np.array([2.0, 2.0]), "input": 7, "numpy": np, "math": __import__("math")}
    if expected is None:
        with pytest.raises(InvalidModel, match="attribute"):
            mdf_guard.evaluate(text, names)
    else:
        assert mdf_guard.evaluate(text, names) == expected


def test_whatever_is_converted_may_be_evaluated() -> None:
    calls = [
        *(f"numpy.{name}(x)" for name in NUMPY),
        *(f"math.{name}(x)" for name in MATH),
        *(f"{f}(x)" for f in PYTHON),
    ]
    for text in [*calls, *(f"x.{name}(1)" for name in METHODS), *(f"x.{name}" for name in MEMBERS)]:
        mdf_guard.check_texts({"nodes": {"a": {"output_ports": {"y": {"value": text}}}}})
    assert len(calls) > 100


def test_texts_that_are_no_expressions() -> None:
    for text in ("/A/Add", "1 +", "(" * 300, "-" * 100_000 + "1", "\0"):
        mdf_guard.check_texts({"nodes": {"/A/Add": {"output_ports": {"y": {"value": text}}}}})  # the engine says it
        with pytest.raises(SyntaxError):
            mdf_guard.evaluate(text, {})


def test_a_text_that_only_comes_to_be_one(tmp_path: Path) -> None:
    """The engine evaluates what a list or a weight holds as well: nothing of that may run either."""
    mark = tmp_path / "mark"
    text = f"open({str(mark)!r}, 'w')"
    by_item = {"parameters": {"p": {"value": [text]}, "q": {"value": "p[0]"}, "r": {"value": "q"}}}
    by_default = {"input_ports": {"x": {"default_value": [text, "1"]}}, "parameters": {"q": {"value": "x[0]"}}}
    by_weight = {"input_ports": {"x": {}}, "parameters": {"q": {"value": "x"}}}
    nodes = {
        "a": {**by_item, "output_ports": {"out": {"value": "r"}}},
        "b": {**by_default, "output_ports": {"out": {"value": "q"}}},
        "c": {"output_ports": {"out": {"value": "1"}}},
        "d": {**by_weight, "output_ports": {"out": {"value": "q"}}},
    }
    for name, edges in (("a", {}), ("b", {}), ("d", {"e": edge("c", "d", weight=text)})):
        kept = {one: nodes[one] for one in ("c", name)} if edges else {name: nodes[name]}
        [found] = run(tmp_path, model(kept, edges))
        assert found.outputs is None
        assert not mark.exists()


def test_files_that_are_refused(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    [found] = run(tmp_path, model({"a": {"parameters": {"p": {"value": f"open({str(mark)!r}, 'w')"}}}}))
    assert found.stage == "load" and found.error.startswith("node 'a', 'p': ") and "a call of 'open'" in found.error
    assert not mark.exists()
    [found] = run(tmp_path, model({"a": {"parameters": {"p": {"function": "onnx::Loop", "args": {"M": "3"}}}}}))
    assert found.stage == "load" and "no function onnx::Loop" in found.error
    ends = {"termination": {"trial": {"type": "warnings"}}}
    [found] = run(tmp_path, model({"a": {}}, conditions=ends))
    assert found.stage == "load" and found.error == "there is no condition 'warnings'"
    (tmp_path / "m.yaml").write_text(f"m: !!python/object/apply:os.system ['touch {mark}']")
    [found] = run_file("mdf", tmp_path / "m.yaml", [{}])
    assert found.stage == "load" and not mark.exists()


# its faults -----------------------------------------------------------------------------------------

SENDER = {"output_ports": {"out": {"value": "1"}}}


def taking(reduce: str | None) -> dict[str, Any]:
    return {"input_ports": {"x": {"reduce": reduce} if reduce else {}}, "output_ports": {"out": {"value": "x"}}}


TWO = {"e": edge("a", "c"), "f": edge("b", "c")}
SEEN = {**TWO, "g": edge("a", "d")}


@pytest.mark.parametrize(
    ("nodes", "edges", "conditions", "fault"),
    [
        ({"c": taking(None)}, TWO, {}, mdf_faults.UNORDERED),
        ({"c": taking("overwrite")}, TWO, {}, mdf_faults.UNORDERED),
        ({"c": taking(None)}, {"e": edge("a", "c")}, {}, ""),
        ({"c": taking("add")}, TWO, {}, ""),
        ({"c": taking("multiply")}, TWO, {"node_specific": {"a": {"type": "Always"}}}, mdf_faults.IN_PLACE),
        ({"c": taking("add"), "d": taking(None)}, SEEN, {}, mdf_faults.IN_PLACE),
    ],
)
def test_faults_of_shared_ports(nodes: Any, edges: Any, conditions: Any, fault: str) -> None:
    tree = model({"a": SENDER, "b": SENDER, **nodes}, edges, conditions=conditions)
    assert mdf_faults.faults(first_graph(tree), interface(tree)) == fault


def test_the_fault_of_adding_in_place(tmp_path: Path) -> None:
    """With the fault this is what the engine does: one of the senders hands 30 or 20 on, not 10 or 20."""
    nodes = {
        "a": {"output_ports": {"out": {"value": "numpy.array([10.0])"}}},
        "b": {"output_ports": {"out": {"value": "numpy.array([20.0])"}}},
        "c": taking("add"),
        "d": taking(None),
        "e": taking(None),
    }
    # so that c comes first
    nodes["d"]["input_ports"]["wait"] = nodes["e"]["input_ports"]["wait"] = {}
    waits = {"w": edge("c", "d", "wait"), "v": edge("c", "e", "wait")}
    [found] = run(tmp_path, model(nodes, {**TWO, **waits, "g": edge("a", "d"), "h": edge("b", "e")}))
    assert found.fault == mdf_faults.IN_PLACE
    assert sorted(value for one in plain(found).values() for value in one) in ([20.0, 30.0], [10.0, 30.0])


@pytest.mark.parametrize(
    "parameter",
    [
        {"function": "onnx::RandomUniform", "args": {"shape": [2]}},
        {"value": "numpy.random.rand(2)"},
        {"function": "linear", "args": {"slope": "numpy.random.normal()", "intercept": 0, "variable0": 1}},
        {"value": 0, "conditions": {"c": {"test": "numpy.random.rand() > 0.5", "value": 1}}},
    ],
)
def test_random_functions(parameter: dict[str, Any]) -> None:
    tree = model({"a": {"parameters": {"p": parameter}}})
    assert mdf_faults.faults(first_graph(tree), interface(tree)) == mdf_faults.RANDOM


@pytest.mark.parametrize(
    ("default", "edges", "endless"),
    [
        (None, {"e": edge("a", "b"), "f": edge("b", "a")}, True),
        (0, {"e": edge("a", "b"), "f": edge("b", "a")}, False),
        (None, {"e": edge("a", "b"), "f": edge("c", "c")}, True),
        (None, {"e": edge("a", "b"), "f": edge("b", "c"), "g": edge("c", "b")}, False),
    ],
)
def test_edges_that_the_engine_never_orders(default: Any, edges: Any, endless: bool) -> None:
    port = {"x": {} if default is None else {"default_value": default}}
    nodes = {one: {"input_ports": port, "output_ports": {"out": {"value": "x"}}} for one in ("a", "b")}
    nodes |= {"c": nodes["b"]} if any("c" in one.values() for one in edges.values()) else {}
    assert mdf_faults.endless(first_graph(model(nodes, edges))) == endless
