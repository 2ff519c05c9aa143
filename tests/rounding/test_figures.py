"""How often the rule is right on built models: no false alarm, no fault of these kinds missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from .figures import TARGETS, measure, subjects
from .models import BUILT


@pytest.mark.corpus
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", BUILT)
def test_built_models(tmp_path: Path, name: str) -> None:
    subject = next(one for one in subjects(tmp_path, [name]) if one[0] == name)
    rule, _ = measure(subject, tmp_path)
    wrong = {key for key in rule if (key[1] == "equal") != (key[0] in TARGETS) and key[0] != "x(1+1e-6)"}
    assert not wrong
