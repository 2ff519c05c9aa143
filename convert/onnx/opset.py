"""An ONNX graph at another opset, without a detour over the newest one.

Control flow goes through its canonical form, every other operator from its own version to the wanted one.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Iterator

from ...passes.defaults import put_on_defaults, take_off_defaults
from ...passes.errors import InvalidModel, Unsupported
from ...passes.garbage import bulk
from ...passes.graph import NOTES, Graph
from ...passes.hub import HUB
from ...passes.infer import infer
from ...passes.inferred_faults import check_inferred
from ...passes.operator_list import OperatorList
from ...passes.opset import Change, Log, raising_loops, restamped
from ...passes.opset.changes import DECOMPOSED, INLINED, name_of
from ...passes.rewrite import Builder, Rewriter, combine
from ...passes.schemas import HUB_OPSET, schema, since_version
from ...passes.structure.containers import check_interface
from ...passes.structure.simplify import RemoveDead
from ...passes.tensor import TensorData
from .functions import Converted, convert_functions
from .legalize import legalized
from .lowering import DEFAULT_OPSET, finished, lower_operators, targets_of
from .raising import Calls, FunctionKey, check_functions, function_rules
from .write import IR_OF_OPSET, IR_WITH_DEFAULTS, IR_WITH_FUNCTIONS


def at_opset(graph: Graph, opset: int | None = None) -> Graph:
    """The graph at `opset`, its own where none is given; the same object where it is there with all its operators.

    Graphs that were read from elsewhere, as from MDF, may hold operators of other versions than those of their opset.

    Raises:
        InvalidModel, Unsupported: see `change_opset`.
    """
    own = graph.opsets.get("")
    wanted = own if opset is None else opset
    if wanted is None or (wanted == own and _is_uniform(graph)):
        return graph
    return change_opset(graph, wanted)


def _is_uniform(graph: Graph) -> bool:
    """Whether all operators are of the versions that their opsets have."""
    calls = {key[:2] for key in graph.functions}
    for root in (graph, *(function.graph for function in graph.functions.values())):
        for _, node in root.walk():
            opset = root.opsets.get(node.domain)
            if opset is not None and node.op not in calls and node.version != (since_version(*node.op, opset) or opset):
                return False
    return True


def change_opset(graph: Graph, opset: int, operators: OperatorList | None = None) -> Graph:
    """The graph at `opset`, with operators of the list only where one is given.

    Model-local functions are converted and kept; they are inlined where the file format has none yet (opsets
    below 15), and where something in them depends on what only a call knows. `meta["notes"]` says which,
    and what else the report should say; `meta["changes"]` lists what became of operators that didn't stay as they were
    (`passes.opset.Change`).

    Raises:
        InvalidModel: functions call themselves, or grow too much; shapes contradict themselves.
        Unsupported: an operator, type or attribute isn't supported there.
        NotLegal: the list can't express some nodes, and neither what they are made of.
    """
    skeleton = graph.meta.get("onnx.model")
    if skeleton is not None and skeleton.training_info:
        raise Unsupported("the model's training_info", "training graphs can't be brought to another opset")
    log = Log()
    with bulk():
        defaults: dict[str, TensorData] = {}
        plain = not graph.functions and not any(node.regions for node in graph.nodes)
        if plain and operators is None:
            made = restamped(graph, targets_of(graph, opset))
            if made is not None:
                check_interface(graph, opset)
                return finished(_own_constants(made, graph, opset), opset)
        check_functions(graph)
        functions, told = Converted(inlined=dict.fromkeys(graph.functions, "")), list[str]()
        if graph.functions and operators is None and IR_OF_OPSET.get(opset, 0) >= IR_WITH_FUNCTIONS:
            graph = graph.copy()
            functions = convert_functions(graph, opset, log)
        rules = combine(function_rules(graph, functions.inlined), raising_loops.RULES)
        if plain and all(value.data is None for value in graph.inputs):
            with _inferred(graph):
                made = lower_operators(graph, opset, log)
        else:
            rewriter = Rewriter(HUB, rules, fallback=Builder.copy)
            looped = rewriter.run(graph)
            told += rewriter.notes
            if _ir_version(looped) >= IR_WITH_DEFAULTS:
                defaults = take_off_defaults(looped)
            infer(looped)
            check_inferred(looped)
            made = lower_operators(looped, opset, log)
        if opset < graph.opsets.get("", 0):
            RemoveDead()(made)
        if operators is not None:
            made = legalized(made, operators, log)
        put_on_defaults(made, defaults)
        made = finished(_own_constants(made, graph, opset), opset)
        _forget_inferred(made, graph)
        made.functions = functions.kept
        for domain, version in graph.opsets.items():
            if any(domain == key[0] for key in functions.kept):
                made.opsets.setdefault(domain, version)
        notes = [
            f"function {domain}.{name} is inlined: {reason or _without_functions(opset, operators)}"
            for (domain, name, _), reason in functions.inlined.items()
        ]
        notes += dict.fromkeys((*functions.notes, *told))
        if notes:
            made.meta[NOTES] = [*made.meta.get(NOTES, ()), *notes]
        _log_calls(graph, functions.inlined, opset, log)
        made.meta["changes"] = _with_loops(graph, made, opset, log)
        return made


@contextlib.contextmanager
def _inferred(graph: Graph) -> Iterator[None]:
    """A graph without regions with all types that inference finds; afterwards it is as it was."""
    stated = [(value, value.type) for node in graph.nodes for value in node.outputs]
    infer(graph)
    try:
        check_inferred(graph)
        yield
    finally:
        for value, type in stated:
            value.type = type


def _forget_inferred(made: Graph, graph: Graph) -> None:
    """Inside the model it says the types that it said before: what inference found, ONNX's own finds again.

    Some of the oldest operators (Cast-1, for one) have no inference of their own.
    """
    stated = {value.name: value.type for inner in graph.graphs() for value in inner.values()}
    for inner in made.graphs():
        handed_out = set(inner.outputs)
        for node in inner.nodes:
            entry = schema(node.domain, node.op_type, node.version)
            found_again = entry is None or entry.has_type_and_shape_inference_function
            for value in node.outputs:
                if found_again and value not in handed_out and stated.get(value.name) is None:
                    value.type = None


def _own_constants(made: Graph, graph: Graph, opset: int) -> Graph:
    """Before IR 4 every constant stood among the inputs, too; from there on that would make it a default."""
    if _ir_version(graph) < IR_WITH_DEFAULTS <= IR_OF_OPSET[opset]:
        made.inputs = [value for value in made.inputs if value.data is None]
    return made


def _ir_version(graph: Graph) -> int:
    skeleton = graph.meta.get("onnx.model")
    return skeleton.ir_version if skeleton is not None else IR_OF_OPSET.get(graph.opsets.get("", 0), 0)


def lowest_opset(graph: Graph) -> Graph:
    """The graph at the lowest opset that can say it; itself where only its own can."""
    own = graph.opsets.get("", 1)
    for opset in range(1, own):
        try:
            return change_opset(graph, opset)
        except Unsupported:
            continue
    return graph


def listed_opset(operators: OperatorList, graph: Graph, opset: int | None) -> int:
    """The opset to write a model at that is limited to a list of operators: `opset`, else the nearest to its own.

    Raises:
        InvalidModel: the list doesn't go with the opset.
    """
    first, last = operators.opsets or (1, HUB_OPSET)
    if opset is not None and not first <= opset <= last:
        raise InvalidModel(f"{operators.name} reads the opsets {first} to {last}, not {opset}")
    own = graph.opsets.get("", DEFAULT_OPSET) if graph.dialect == "onnx" else DEFAULT_OPSET
    return opset or min(max(own, first), last)


def with_listed_operators(graph: Graph, operators: OperatorList) -> Graph:
    """The graph with operators of the list only, at its own opset.

    Raises:
        NotLegal: the list can't express some nodes, and neither what they are made of.
    """
    before = graph.meta.get("changes", ())
    made = change_opset(graph, graph.opsets[""], operators)
    made.meta["changes"] = [*before, *made.meta["changes"]]
    return made


def _log_calls(graph: Graph, inlined: Collection[FunctionKey], opset: int, log: Log) -> None:
    """What the model's own functions cost where they stand in the place of their calls."""
    calls = Calls(graph)
    sizes = {key: sum(1 for _ in graph.functions[key].graph.walk()) for key in inlined}
    for _, node in graph.walk() if inlined else ():
        key = calls.of(node)
        if key is not None and key in inlined:
            log.count(name_of(node), node.version, opset, INLINED, 1, sizes[key])


def _without_functions(opset: int, operators: OperatorList | None) -> str:
    """Why a model of an opset keeps no functions of its own."""
    return f"opset {opset} came with an IR without functions" if operators is None else f"{operators.name} has none"


def _count(graph: Graph, op_type: str) -> int:
    return sum(node.op == ("", op_type) for _, node in graph.walk())


def _with_loops(before: Graph, after: Graph, opset: int, log: Log) -> list[Change]:
    """All changes, those among them of Scans that have become Loops: what isn't the cost of others, is theirs."""
    bodies = [function.graph for function in after.functions.values()]
    changes = (
        log.changes({node for graph in (after, *bodies) for _, node in graph.walk()})
        if log.frames or log.counts
        else []
    )
    scans = Counter(node.version for _, node in before.walk() if node.op_type == "Scan" and not node.domain)
    if not scans:
        return changes
    gone = min(scans.total() - _count(after, "Scan"), _count(after, "Loop") - _count(before, "Loop"))
    if gone > 0:
        cost = sum(1 for _ in after.walk()) - sum(1 for _ in before.walk()) - sum(change.cost for change in changes)
        changes.append(Change("Scan", max(scans), opset, DECOMPOSED, gone, gone + max(cost, 0)))
    return changes
