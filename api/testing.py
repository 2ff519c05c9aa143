"""Assertions about models, for tests.

    from backedge.testing import assert_equivalent

    def test_export() -> None:
        assert_equivalent("before.onnx", "after.onnx")

With pytest there is a fixture of the same name, whose number of trials `--backedge-trials` says.
"""

from __future__ import annotations

from typing import Any

from backedge.convert.budget import TRIALS
from backedge.convert.objects import Source
from backedge.convert.verification import verify
from backedge.runtime.compare.record import Report


def assert_equivalent(a: Source, b: Source, *, trials: int = TRIALS, confirmed: bool = True, **options: Any) -> Report:
    """Fail where two models don't compute the same.

    Args:
        a: the original: a path or an object, see `backedge.verify`.
        b: what is held against it.
        trials: sets of designed inputs.
        confirmed: fail, too, where nothing differs but runtimes that aren't ours didn't confirm that ("unconfirmed",
            for example where one isn't installed).
        options: further ones of `backedge.verify`: `inputs`, `rtol`, `atol`, `shapes`, `seed`, `timeout` ...

    Returns:
        The report.

    Raises:
        AssertionError: the verdict isn't "proved" or "equal"; its message is the report, with the first difference.
        InvalidModel: a model can't be read.
    """
    __tracebackhide__ = True
    report = verify(a, b, trials=trials, **options)
    if report or (not confirmed and report.verdict == "unconfirmed"):
        return report
    raise AssertionError(f"the models aren't equivalent\n{report}")
