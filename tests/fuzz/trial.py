"""What is done with a mutant, and what of that is a finding.

A file is read, written in its own format and read again, raised and written in another format, whose own checker may be
asked, and run on small inputs. It may be refused at any of these steps by an error of `passes.errors`.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import re
import signal
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from backedge.convert.files import as_a_file_of, load, objection, to_dialect, to_hub
from backedge.convert.format import FORMATS, Format
from backedge.passes.errors import BackedgeError, InvalidModel, Unsupported
from backedge.passes.graph import Value
from backedge.passes.types import TensorType
from backedge.runtime.compare.input_roles import signature_of
from backedge.runtime.compare.inputs import design
from backedge.runtime.executor import Executor, never_compile

from .sample import Sample

_ROOT = Path(__file__).parents[2]
_SECONDS, _RUN_SECONDS = 10, 4
_MOST_ELEMENTS = 1 << 22  # of an input that is made for a run
TARGETS = [
    ("onnx", 8),
    ("onnx", 13),
    ("onnx", 18),
    ("onnx", 28),
    ("openvino", None),
    ("hlo", None),
    ("mdf", None),
    ("stateful", None),
]


@dataclass(frozen=True, slots=True)
class Plan:
    """Which steps are done after reading: a target with its opset, whether its checker is asked, whether to run."""

    target: str
    opset: int | None
    checked: bool
    ran: bool

    @staticmethod
    def drawn(random: Random) -> Plan:
        target, opset = ("stablehlo", None) if random.random() < 0.03 else random.choice(TARGETS)
        checked = random.random() < (0.3 if target == "onnx" else 0.02)
        return Plan(target, opset, checked, random.random() < 0.3)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`status`: "done", "refused" or "finding", whose `key` is one for all of a kind; `text` says more."""

    status: str
    key: str = ""
    text: str = ""


class _OutOfTime(BaseException):
    """A step takes too long."""


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise _OutOfTime

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of our own work: the machine may have other work, too
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def trial(sample: Sample, plan: Plan) -> Outcome:
    """Do with a file what a plan says."""
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        try:
            with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()), _within(_SECONDS):
                warnings.simplefilter("ignore")
                return _steps(sample.stored(Path(folder)), Path(folder), plan)
        except Unsupported as error:
            return _line(error, 3)
        except BackedgeError as error:
            return _line(error, 2)
        except _OutOfTime as error:
            return Outcome("finding", f"hang: {_innermost(error, 1)}", traceback.format_exc())
        except MemoryError as error:
            return Outcome("finding", f"memory: {_innermost(error)}", traceback.format_exc())
        except Exception as error:
            if found := _judgement(Path(folder) / f"mutant{sample.suffix}"):
                return Outcome("judged", f"{type(error).__name__}: {_innermost(error)}", found)
            return Outcome("finding", f"{type(error).__name__}: {_innermost(error)}", traceback.format_exc())


def _line(error: BackedgeError, code: int) -> Outcome:
    text = str(error)
    if len(text) > 3000:
        return Outcome("finding", f"long message: {_innermost(error)}", text)
    return Outcome("refused", str(code), text)


def _innermost(error: BaseException, count: int = 3) -> str:
    """The innermost frames in our own code."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if str(_ROOT) in frame.filename]
    own = [
        f"{Path(frame.filename).parent.name}/{Path(frame.filename).name}:{frame.name}"
        for frame in frames
        if "/tests/" not in frame.filename
    ]
    return " < ".join(reversed(own[-count:]))


def _steps(path: Path, folder: Path, plan: Plan) -> Outcome:
    graph = load(path)
    own = _own(path)
    target = FORMATS["mdf"].in_style("stateful") if plan.target == "stateful" else FORMATS[plan.target]
    if not plan.ran or own.name != "stablehlo":
        again = folder / f"again{path.suffix}"
        own.write(graph, again)
        if found := _unread(again):
            return Outcome("finding", f"written in {own.name}, unread: {_kind_of(found)}", found)
    refusal: Unsupported | None = None
    try:
        made = folder / f"made{target.suffixes[0]}"
        target.write(to_dialect(graph, target, plan.opset), made)
        if found := _unread(made):
            _try(to_hub(graph))  # `convert` refuses it; what can't be run needn't become anything that is read
            return Outcome("finding", f"{own.name} to {target.name}, unread: {_kind_of(found)}", found)
        if plan.checked and (found := _objection(made)) and not _is_theirs(made, target, path, own):
            _try(to_hub(graph))  # what can't be run needn't become anything that its checker takes
            return Outcome("finding", f"{own.name} to {target.name}, refused: {_kind_of(found)}", found)
    except Unsupported as error:
        refusal = error
    if plan.ran:
        _try(to_hub(graph))
    return Outcome("done") if refusal is None else _line(refusal, 3)


def _elements(value: Value) -> int:
    shape = value.type.shape if isinstance(value.type, TensorType) else None
    return math.prod(size for size in shape or () if isinstance(size, int))


def _try(hub: Any) -> None:
    """Run a graph on one set of small inputs, for a short time.

    Raises:
        BackedgeError: it can't be run on these.
    """
    if any(_elements(value) > _MOST_ELEMENTS for value in hub.inputs):
        return
    (inputs,) = design(signature_of(hub), 1, 0)
    signal.setitimer(signal.ITIMER_PROF, _RUN_SECONDS)
    with contextlib.suppress(_OutOfTime):
        Executor(hub, never_compile).run(inputs)


def _own(path: Path) -> Format:
    return next(entry for entry in FORMATS.values() if path.suffix in entry.suffixes)


def _judgement(path: Path) -> str:
    """Who refuses a file, as `convert.files.judged` asks."""
    signal.setitimer(signal.ITIMER_PROF, 0)
    try:
        return objection(path, _own(path))
    except Exception:
        return ""


def _objection(path: Path) -> str:
    """What the format's own checker says of a file. It has limits of its own, and isn't to be interrupted."""
    signal.setitimer(signal.ITIMER_PROF, 0)
    try:
        return _own(path).check.objection(path)
    except Exception:
        return ""


def _is_theirs(made: Path, target: Format, path: Path, own: Format) -> bool:
    """Whether a checker objects to a source, too, or only to what it declares, as `convert` asks."""
    with as_a_file_of(target, path, own) as (given, source):
        if _objection(source):
            return True
        signal.setitimer(signal.ITIMER_PROF, 0)
        return target.check == given.check and target.check.misdeclared(made, source)


def _unread(path: Path) -> str:
    try:
        load(path)
    except InvalidModel as error:
        return str(error).replace(str(path), "")
    return ""


def _kind_of(text: str) -> str:
    """A message without what differs between models."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|\d+|\([^()]*\)|\[[^\]]*\]", "_", text)[:90]
