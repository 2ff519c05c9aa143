"""The executor against recorded data: the 1765 node tests of the onnx 1.22.0 wheel.

python -m pytest -m corpus tests/corpus/test_executor.py -s
"""

from __future__ import annotations

import signal
from collections import Counter
from typing import Any

import pytest
from backedge.convert import load, to_hub
from backedge.runtime.executor import Executor

from corpus.wheel import Recorded, recorded, same

# Outputs that are random by definition (their recorded values are one draw), or for which the record is wrong.
RANDOM = "random by definition"
REASONS = {
    "test_bernoulli": RANDOM,
    "test_bernoulli_double": RANDOM,
    "test_bernoulli_seed": RANDOM,
    "test_bernoulli_expanded": RANDOM,
    "test_bernoulli_double_expanded": RANDOM,
    "test_bernoulli_seed_expanded": RANDOM,
}


def failure(case: Recorded) -> str:
    """What is wrong with the executor's answer, "" if nothing."""

    def ring(*_: Any) -> None:
        raise TimeoutError("no answer in 30 s")

    signal.signal(signal.SIGALRM, ring)
    signal.alarm(30)
    try:
        graph = to_hub(load(case.path))
        executor = Executor(graph)
        for inputs, outputs in case.sets():
            names = [value.name for value in graph.inputs]
            got = list(executor.run(dict(zip(names, inputs, strict=True))).values())
            for index, (expected, actual) in enumerate(zip(outputs, got, strict=True)):
                if not same(expected, actual):
                    return f"output {index} differs"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    return ""


@pytest.mark.corpus
@pytest.mark.timeout(1800)
def test_recorded_data() -> None:
    cases = recorded("1.22.0")
    misses = {case.name: failure(case) for case in cases}
    misses = {name: reason for name, reason in misses.items() if reason}
    for name, reason in misses.items():
        print(f"{name}: {REASONS.get(name, reason)}")
    print(f"{len(cases) - len(misses)} of {len(cases)} right")
    print(Counter(REASONS.get(name, reason.split(":")[0]) for name, reason in misses.items()))
    control_flow = [name for name in misses if name.startswith(("test_loop", "test_scan", "test_if"))]
    assert not control_flow
    assert len(cases) == 1765
    assert len(cases) - len(misses) >= 1700
