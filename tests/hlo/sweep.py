"""JAX programs, judged stage by stage: read and written, run here, as ONNX, as OpenVINO IR, and back as HLO.

python -m hlo.sweep OUTDIR [part of a name or =family ...] [--stage text|executor|onnx|back|openvino|loops ...] [--keep]
                    [--compiled] [--every N]

(from the folder tests). With --compiled they are what XLA's compiler makes of the programs, with fusions, layouts and
bitcasts. The models stay in OUTDIR/models; OUTDIR/sweep.json has every verdict, OUTDIR/failures.txt
what failed, alike failures together.
"""

from __future__ import annotations

import argparse
import itertools
import json
import pickle
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from openvino_lowering.worker import Worker

from .stages import (
    CRASHED,
    DIED,
    GOOD,
    HUNG,
    INVALID,
    NO_FORM,
    NOT_ASKED,
    REFUSED,
    SKIPPED,
    STAGES,
    Case,
    Verdict,
    asked,
    judge,
)

_SECONDS = 90
_WITHOUT_HUB = frozenset({REFUSED, NO_FORM, INVALID, CRASHED, DIED})
_NEED_HUB = frozenset({"onnx", "back", "openvino", "loops"})
Verdicts = dict[str, Verdict]


def cases(parts: Sequence[str], kept: Path | None, compiled: bool = False, every: int = 1) -> Iterator[Case]:
    """Cases whose name has one of the parts, or that are of a family named `=family`; all without parts.

    `kept`: a file of all cases, which spares asking jax again; it is made where it doesn't exist.
    `compiled`: their text is what XLA's compiler makes of it. `every`: one of so many.
    """
    if kept is not None and not kept.exists():
        kept.write_bytes(pickle.dumps(list(_made([], compiled))))
    found = _made(parts, compiled, every) if kept is None else pickle.loads(kept.read_bytes())
    chosen = (case for case in found if _is_chosen(case.name, case.families, parts))
    return chosen if kept is None else itertools.islice(chosen, 0, None, every)


def _made(parts: Sequence[str], compiled: bool, every: int = 1) -> Iterator[Case]:
    from .cases import case_of
    from .programs import PROGRAMS

    chosen = (program for program in PROGRAMS.values() if _is_chosen(program.name, program.families, parts))
    return (case_of(program, compiled) for program in itertools.islice(chosen, 0, None, every))


def _is_chosen(name: str, families: frozenset[str], parts: Sequence[str]) -> bool:
    return not parts or any(part[1:] in families if part.startswith("=") else part in name for part in parts)


def verdicts(case: Case, stages: Iterable[str], worker: Worker, folder: Path) -> Verdicts:
    found: Verdicts = {}
    for stage in stages:
        if not asked(stage, case):
            found[stage] = Verdict(NOT_ASKED)
            continue
        hub = found.get("executor")
        if stage in _NEED_HUB and hub is not None and hub.verdict in _WITHOUT_HUB:
            found[stage] = Verdict(SKIPPED)
            continue
        try:
            found[stage] = worker.ask(stage, case, folder, timeout=_SECONDS)
        except TimeoutError as error:
            found[stage] = Verdict(HUNG, str(error))
        except RuntimeError as error:
            found[stage] = Verdict(DIED, str(error))
    return found


def sweep(cases: Iterable[Case], stages: Sequence[str], folder: Path) -> Iterator[tuple[Case, Verdicts]]:
    worker = Worker(judge)
    try:
        for case in cases:
            (folder / case.name).mkdir(parents=True, exist_ok=True)
            (folder / case.name / "jax.hlo").write_text(case.text)
            yield case, verdicts(case, stages, worker, folder / case.name)
    finally:
        worker.stop()


def alike(reason: str) -> str:
    """A reason without what differs from program to program."""
    reason = re.sub(r"[\w.$/]+:\d+:\d+: ", "", reason)
    reason = re.sub(r"\b[A-Za-z_-]+\.\d+\b|'[^']*\d[^']*'|\"[^\"]*\"", "N", reason)
    return re.sub(r"-?\d[\d.e+-]*", "#", reason)[:110]


def failures(results: dict[str, Verdicts]) -> str:
    """What failed: alike reasons together, the most frequent first."""
    groups: dict[tuple[str, str, str], list[tuple[str, str]]] = defaultdict(list)
    for name, found in results.items():
        for stage, verdict in found.items():
            if verdict.verdict not in GOOD and verdict.verdict != SKIPPED:
                kind = "" if verdict.verdict in ("WRONG", "DIED", "HUNG") else alike(verdict.reason)
                groups[stage, verdict.verdict, kind].append((name, verdict.reason))
    lines = []
    order = list(STAGES)
    for (stage, kind, _), members in sorted(groups.items(), key=lambda g: (order.index(g[0][0]), g[0][1], -len(g[1]))):
        lines.append(f"\n{stage}: {kind} ({len(members)}): {members[0][1][:300] if kind not in ('WRONG',) else ''}")
        if kind == "WRONG":
            lines += [f"    {name}: {reason[:220]}" for name, reason in members]
        else:
            lines.append("    " + " ".join(name for name, _ in members))
    return "\n".join(lines) + "\n"


def totals(results: dict[str, Verdicts], stages: Sequence[str]) -> str:
    lines = []
    for stage in stages:
        counts = Counter(found[stage].verdict for found in results.values() if found[stage].verdict != NOT_ASKED)
        good = sum(count for verdict, count in counts.items() if verdict in GOOD)
        rest = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
        lines.append(f"{stage:9} {good} of {counts.total()}: {rest}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("outdir", type=Path)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--stage", action="append", choices=list(STAGES))
    parser.add_argument("--keep", action="store_true", help="keep what jax computes for the next run")
    parser.add_argument("--compiled", action="store_true", help="what XLA's compiler makes of the programs")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one of N programs")
    options = parser.parse_args()
    stages = options.stage or list(STAGES)
    options.outdir.mkdir(parents=True, exist_ok=True)
    kept = options.outdir / ("compiled.pickle" if options.compiled else "cases.pickle") if options.keep else None
    results: dict[str, Verdicts] = {}
    start = time.monotonic()
    print(f"{'':32}" + "".join(f"{stage:10}" for stage in stages))
    for case, found in sweep(
        cases(options.parts, kept, options.compiled, options.every), stages, options.outdir / "models"
    ):
        results[case.name] = found
        print(f"{case.name:32}" + "".join(f"{found[stage].verdict or '.':10}" for stage in stages), flush=True)
    told = f"{totals(results, stages)}\n"
    print(f"\n{told}{len(results)} programs in {time.monotonic() - start:.0f} s; * where our executor stood in")
    (options.outdir / "failures.txt").write_text(told + failures(results))
    plain = {name: {stage: asdict(verdict) for stage, verdict in found.items()} for name, found in results.items()}
    (options.outdir / "sweep.json").write_text(json.dumps(plain, indent=1))
    print(failures(results) if options.parts else f"see {options.outdir}/failures.txt")
    sys.exit(any(verdict.verdict not in GOOD for found in results.values() for verdict in found.values()))


if __name__ == "__main__":
    main()
