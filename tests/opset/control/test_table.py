"""Loop, Scan and If from every version to every version: all of it under `-m corpus -s`, else a sample."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace

import onnx
import pytest
from backedge.convert.files import to_dialect
from backedge.convert.format import FORMATS
from backedge.convert.onnx.read import read_model
from backedge.passes.graph import Graph
from control_flow.cases import CASES, Run
from onnx import defs

from .judge import TARGETS, Verdict, judge
from .refusals import ACCEPTED, is_accepted
from .row import Row
from .table import CATALOGUE_TARGETS, ROWS, lines, of_catalogue, of_row

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="ONNX Runtime dies on some models: they need a fork each"
)
SEED = 20


@pytest.mark.corpus
@pytest.mark.timeout(3000)
def test_all_to_all() -> None:
    cells = [cell for row in ROWS for cell in of_row(row)]
    print("\n" + "\n".join(lines(cells)))
    assert not [str(cell) for cell in cells if not cell.accepted]


@pytest.mark.corpus
@pytest.mark.timeout(3000)
def test_whole_catalogue() -> None:
    cells = list(of_catalogue())
    print("\n" + "\n".join(lines(cells)))
    assert not [str(cell) for cell in cells if not cell.accepted]


@pytest.mark.parametrize(("count", "right"), [(24, 68), pytest.param(70, 200, marks=pytest.mark.full)])
def test_sample(count: int, right: int) -> None:
    chosen = random.Random(SEED)
    cells = [cell for row in chosen.sample(ROWS, count) for cell in of_row(row, sorted(chosen.sample(TARGETS, 5)))]
    assert not [str(cell) for cell in cells if not cell.accepted]
    assert sum(cell.verdict.kind == "right" for cell in cells) > right


def test_sample_of_catalogue() -> None:
    chosen = random.Random(SEED)
    names = [case.name for case in chosen.sample(CASES, 40)]
    cells = list(of_catalogue(names, CATALOGUE_TARGETS[1::2]))
    assert not [str(cell) for cell in cells if not cell.accepted]
    assert sum(cell.verdict.kind == "right" for cell in cells) > 100


@pytest.mark.parametrize("row", [row for row in ROWS if row.opset in (1, 8, 9, 11, 25)], ids=lambda row: row.case.name)
def test_models_are_valid(row: Row) -> None:
    onnx.checker.check_model(row.case.model(), full_check=True)


def test_every_version_is_a_source() -> None:
    versions = {
        (schema.name, schema.since_version)
        for schema in defs.get_all_schemas_with_history()
        if not schema.domain and schema.name in ("Loop", "Scan", "If")
    }
    found = {
        (name, defs.get_schema(name, row.opset).since_version)
        for row in ROWS
        for name in row.case.tags & {"Loop", "Scan", "If"}
    }
    assert found == versions
    assert set(TARGETS) >= {version for _, version in versions}


def named(name: str) -> Row:
    return next(row for row in ROWS if row.case.name == name)


def operators(graph: Graph) -> Counter[str]:
    return Counter(node.op_type for _, node in graph.walk())


KEPT = [row for row in ROWS if row.opset in (11, 16, 25) and "ignored" not in row.case.name]


@pytest.mark.parametrize("row", KEPT, ids=lambda row: row.case.name)
def test_going_up_takes_other_version_numbers_only(row: Row) -> None:
    graph = read_model(row.case.model())
    made = to_dialect(graph, FORMATS["onnx"], 28)
    assert operators(made) == operators(graph)


def test_types_are_refused_by_name() -> None:
    case = named("type_loop_float8e5m2@19").case
    verdict = judge(case, read_model(case.model()), 18)
    assert verdict.kind == "refused"
    assert "float8e5m2" in verdict.what


@pytest.mark.parametrize(("target", "runtime"), [(9, "ONNX Runtime"), (28, "executor")])
def test_wrong_values_are_seen(target: int, runtime: str) -> None:
    """The judge itself: both runtimes speak up against values that aren't the model's."""
    case = named("loop_trip_only@11").case
    runs = [Run(run.inputs, [-value for value in run.expected]) for run in case.runs]
    verdict = judge(replace(case, runs=runs), read_model(case.model()), target)
    assert verdict.kind == "different"
    assert verdict.what.startswith(runtime)


def test_a_condition_of_the_body_alone_is_obeyed_at_every_opset() -> None:
    """As ONNX Runtime, the judge, does with the models as they stand, and with what is made of them."""
    for name in ("loop_body_condition@11", "loop_neither@11"):
        case = named(name).case
        found = [judge(case, read_model(case.model()), target) for target in (8, 11, 13, 21)]
        assert found == [Verdict("right", "ONNX Runtime")] * 4


def test_each_refusal_holds_below_its_opset_only() -> None:
    assert is_accepted("Cast-6 takes no bfloat16[2] ('x')", 12)
    assert not is_accepted("Cast-13 takes no bfloat16[2] ('x')", 13)
    assert not is_accepted("Cast-13 takes no float32[2] ('x')", 9)
    assert all(opset > 1 for opset in ACCEPTED.values())


def test_batches_reach_the_first_opset() -> None:
    """Scan-8 without lengths needs nothing of Scan: a Loop over the batch, a Loop over the sequence."""
    assert [cell.verdict.kind for cell in of_row(named("scan8_reversed@8"), [1, 6, 8, 9])] == ["right"] * 4
