"""A fixed part of the sweep: control flow of all kinds, operators, random nests, in MDF's own engine."""

from __future__ import annotations

from itertools import islice

import pytest

from .stateful_sweep import REFUSED, RIGHT, Case, Verdict, catalogue, judge, random_loops, recorded

EVERY = 5
CATALOGUE = [case for case in catalogue() if case.name != "loop_many_iterations"]  # the engine takes seconds for it


def per_case(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


@per_case(CATALOGUE[::EVERY])
def test_catalogue(case: Case) -> None:
    verdict = judge(case)
    assert verdict.stage in (RIGHT, REFUSED), verdict
    assert verdict.stage == RIGHT or case.name.startswith("type_"), verdict


@per_case(list(islice(random_loops(40, 1000), 20)))
def test_random_nests(case: Case) -> None:
    assert judge(case) == Verdict(case.name, RIGHT)


COMPOSED = """
    averagepool_2d_ceil maxpool_2d_dilations conv_with_strides_and_asymmetric_padding convinteger_with_padding
    convtranspose_group_2 convtranspose_dilations convtranspose_output_shape convtranspose_pads erf gather_elements_1
    gathernd_example_int32_batch_dim1 scatter_elements_with_duplicate_indices scatter_elements_with_negative_indices
    scatternd scatternd_min
""".split()  # noqa: SIM905


@per_case([case for case in recorded() if case.name.removeprefix("test_") in COMPOSED])
def test_operators_that_are_composed(case: Case) -> None:
    assert judge(case) == Verdict(case.name, RIGHT)
