"""Models as native MDF with stateful parameters, run by MDF's own engine: how far each case comes.

python -m mdf.stateful_sweep [--cases catalogue|nodes|random|modules] [part of a name ...]

(from the folder tests). Expected values: the catalogue's own formulas, which ONNX Runtime confirms; what onnx recorded
for its node cases; our executor's for random loops and branches and for random HLO modules, which
OpenVINO and XLA are held against elsewhere.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from backedge.convert.files import to_hub
from backedge.convert.hlo.read import from_text
from backedge.convert.mdf.lowering import lower_stateful
from backedge.convert.mdf.model import Model
from backedge.convert.mdf.structure import tree_from_model
from backedge.convert.onnx.read import read_model
from backedge.convert.specialize import set_shapes
from backedge.passes.errors import BackedgeError
from backedge.passes.graph import Graph
from backedge.runtime.executor import Executor, never_compile
from backedge.runtime.oracles.mdf_syntax import parse
from control_flow.cases import CASES
from hlo.random_modules import module
from openvino_lowering.corpus import KINDS
from openvino_lowering.fuzz import Fuzz
from openvino_lowering.sweep import difference

from .engine import Endless, engine

Arrays = Mapping[str, np.ndarray[Any, Any]]

RIGHT, REFUSED, WRONG, FAILED, SLOW = "right", "refused", "wrong", "failed", "too slow for the time it has"
REFUSALS: dict[str, str] = {
    # what the refusal says (a regular expression): why there is no such model
    r"no numbers of type (bfloat16|u?int[24]|float[48]e\w+|string|complex\w+)": "NumPy has no such numbers",
    r"MDF has numbers and arrays only": "sequences and optionals are none",
    r"(takes|gives) it, and there are no (sequences|optionals) at MDF": "sequences and optionals are none",
    r"whose sizes MDF must know": "an input port has a shape",
    r"(aren't|isn't|is not) known before the model runs": "expressions need it as a number",
    r"the rank of .* isn't known": "expressions need it",
    r"different ranks, or unknown ones": "what the branches of an If give has no rank",
    r"(Bernoulli|Multinomial|Random\w+) can't be expressed in MDF": "it draws random numbers",
    r"it draws random numbers": "it draws random numbers",
    r"can't be expressed in MDF": "NumPy has no such function, and nothing else stands for it",
    r"a power of 64-bit integers whose exponent may be negative": "NumPy raises no integer to a negative power",
    r"the indices of the largest elements": "MaxPool's second output",
    r"in training": "BatchNormalization while training",
    r"different sizes apart from the axis": "ScatterElements of parts",
    r"(over no axes|may reduce nothing|of a scalar|of integers|to float\w+|of float\w+|mode )": "a form that is rare",
    r"its (indices|pads|axes|sizes)": "a form that is rare",
    r"its element type isn't known": "an optional of nothing",
}
"""Of refusals."""


@dataclass(frozen=True)
class Verdict:
    """How far a case came, and why not further."""

    name: str
    stage: str
    reason: str = ""


@dataclass(frozen=True)
class Case:
    """A hub graph, made anew, and what it gives for some inputs, in the order of its outputs.

    Attributes:
        exact: whether the sizes of what is empty are told.
    """

    name: str
    graph: Callable[[], Graph]
    runs: Sequence[tuple[Arrays, Sequence[Any]]]
    rtol: float = 1e-5
    atol: float = 1e-6
    exact: bool = True


def expressions(model: Model) -> Iterator[str]:
    """Every expression of a model."""
    for node in model.graphs[0].nodes:
        values = [*(one.value for one in node.functions), *(one.value for one in node.outputs)]
        for parameter in node.parameters:
            values += [parameter.value, parameter.initial]
        yield from (value for value in values if isinstance(value, str))


def lowered(graph: Graph, feeds: Arrays) -> Model:
    """The model for inputs of these shapes; its expressions are of the kind that we read ourselves."""
    known = {value.name for value in graph.inputs}
    set_shapes(graph, {name: value.shape for name, value in feeds.items() if name in known})
    model = lower_stateful(graph)
    for text in expressions(model):
        parse(text, "an expression")
    return model


def judge(case: Case) -> Verdict:
    """Run a case in MDF's engine: for the shapes of each of its inputs a model."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _judged(case)


def _judged(case: Case) -> Verdict:
    for number, (feeds, wanted) in enumerate(case.runs):
        try:
            model = lowered(case.graph(), feeds)
        except BackedgeError as refusal:
            return Verdict(case.name, REFUSED, str(refusal))
        try:
            found = engine(tree_from_model(model), feeds)
        except Endless:
            return Verdict(case.name, SLOW)
        except Exception as error:
            return Verdict(case.name, FAILED, f"run {number}: {type(error).__name__}: {error}")
        for (name, one), other in zip(found.items(), wanted, strict=True):
            if not case.exact and np.size(one) == np.size(other) == 0:
                continue
            wrong = difference(np.asarray(one), other, case.rtol, case.atol)
            if wrong:
                return Verdict(case.name, WRONG, f"run {number}, output {name!r}: {wrong}")
    return Verdict(case.name, RIGHT)


def catalogue() -> Iterator[Case]:
    """The control-flow cases."""
    for case in CASES:
        runs = [(run.inputs, run.expected) for run in case.runs]
        exact = "empty_shape" not in case.tags
        yield Case(case.name, lambda case=case: to_hub(read_model(case.model())), runs, exact=exact)


def recorded() -> Iterator[Case]:
    """What onnx recorded of its operators."""
    for case in KINDS["nodes"]():
        if any(node.op_type in _DRAWING for node in case.model.graph.node):
            continue
        names = [value.name for value in case.model.graph.input]
        runs = [
            (
                {name: np.asarray(one) for name, one in zip(names, inputs, strict=False) if _is_array(one)},
                outputs,
            )
            for inputs, outputs in case.sets
        ]
        graph: Callable[[], Graph] = lambda case=case: to_hub(read_model(case.model))  # noqa: E731
        yield Case(case.name, graph, runs, case.rtol, case.atol)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic)


_DRAWING = ("Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomUniform")


def random_loops(count: int, first: int = 0) -> Iterator[Case]:
    """Random loops and branches, one in the other."""
    for seed in range(first, first + count):
        fuzz = Fuzz(seed)
        if fuzz.dynamic:
            continue
        executor = Executor(fuzz.graph, never_compile)
        runs = [(feeds, list(executor.run(feeds).values())) for feeds in fuzz.feeds()]
        yield Case(f"random {seed}", fuzz.graph.copy, runs, 1e-4, 1e-5)


def random_modules(count: int, first: int = 0) -> Iterator[Case]:
    """Random HLO modules of all kinds of operators, folds and loops."""
    for seed in range(first, first + count):
        made = module(seed)
        try:
            graph = to_hub(from_text(made.text))
            feeds = dict(zip((value.name for value in graph.inputs), made.inputs, strict=True))
            wanted = list(Executor(graph, never_compile).run(feeds).values())
        except BackedgeError:
            continue
        yield Case(f"module {seed}", graph.copy, [(feeds, wanted)], 1e-4, 1e-5)


SETS: dict[str, Callable[[], Iterable[Case]]] = {
    "catalogue": catalogue,
    "nodes": recorded,
    "random": lambda: random_loops(300),
    "modules": lambda: random_modules(300),
}
"""The sets of cases by the name under which a sweep is asked for them."""


def why_refused(reason: str) -> str:
    """The row of a refusal's reason; "" where there is none."""
    return next((why for pattern, why in REFUSALS.items() if re.search(pattern, reason)), "")


def sweep(cases: Iterable[Case], parts: Sequence[str] = ()) -> Iterator[Verdict]:
    """The verdict on each case whose name has one of the parts."""
    for case in cases:
        if not parts or any(part in case.name for part in parts):
            yield judge(case)


def report(sweep: Callable[[Iterable[Case], Sequence[str]], Iterator[Verdict]]) -> None:
    """A sweep of the set that the command line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", choices=[*SETS], default="catalogue")
    parser.add_argument("parts", nargs="*")
    chosen = parser.parse_args()
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for verdict in sweep(SETS[chosen.cases](), chosen.parts):
        counts[verdict.stage] += 1
        if verdict.stage == REFUSED:
            reasons[why_refused(verdict.reason) or f"? {verdict.reason}"] += 1
        if verdict.stage != RIGHT:
            print(f"{verdict.stage:8} {verdict.name}: {verdict.reason[:200]}", flush=True)
    for why, count in reasons.most_common():
        print(f"{count:5} refused: {why}")
    print(sum(counts.values()), "cases:", ", ".join(f"{count} {stage}" for stage, count in counts.most_common()))


if __name__ == "__main__":
    report(sweep)
