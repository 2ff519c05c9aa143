"""Random models under MDF's engine, and whatever we make of them: where do they differ?

python -m mdf.differ COUNT [--seed FIRST] [--onnxruntime] [--show SEED]

(from the folder tests). Every model comes to one of

    equal       the same numbers
    refused     we refuse what the engine gives numbers for; the reasons are counted
    failed      neither gives numbers
    looser      we give numbers, and the engine fails; its errors are counted
    different   other numbers, or something breaks: a bug
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
from backedge.passes.errors import BackedgeError, InvalidModel
from backedge.runtime.oracles.mdf_names import interface

from .engine import Endless, Tree, engine, executed, limited, on_onnxruntime, raised, same
from .random_models import feeds, model


@dataclass(frozen=True)
class Verdict:
    """What one model came to, and why."""

    kind: str
    reason: str = ""


def judge(tree: Tree, fed: dict[str, object], onnxruntime: bool = False) -> Verdict:
    """One model, run by the engine and by us."""
    if not interface(tree).outputs:
        return Verdict("failed", "no outputs")
    try:
        theirs, failure = engine(tree, fed), ""
    except Endless:
        theirs, failure = {}, "endless"
    except Exception as error:
        theirs, failure = {}, f"{type(error).__name__}: {error}"
    if not failure and any(value is None for value in theirs.values()):
        failure = "an output is None"
    try:
        graph = raised(tree)
    except BackedgeError as refusal:
        kind = "failed" if failure else "wrongly invalid" if isinstance(refusal, InvalidModel) else "refused"
        return Verdict(kind, str(refusal))
    except Exception as error:
        return Verdict("different", f"raising breaks: {type(error).__name__}: {error}")
    if failure == "endless":
        return Verdict("looser", failure)
    try:
        with limited():
            ours = executed(graph, fed)
    except Endless:
        return Verdict("failed" if failure else "different", "execution doesn't end")
    except Exception as error:
        return Verdict("failed" if failure else "different", f"execution: {type(error).__name__}: {error}")
    if failure:
        return Verdict("looser", failure)
    runs = [("executor", ours)]
    if onnxruntime:
        try:
            runs.append(("onnxruntime", on_onnxruntime(graph, fed)))
        except Exception as error:
            if "NOT_IMPLEMENTED" not in str(error):
                return Verdict("different", f"onnxruntime: {error}")
    for where, found in runs:
        for name, value in theirs.items():
            if not same(np.asarray(found[name]), value):
                return Verdict("different", f"{where}: {name}: {found[name]}, not {value}")
    return Verdict("equal")


def of_seed(seed: int, onnxruntime: bool = False) -> Verdict:
    tree, fed = model(seed)
    names = interface(tree)
    shapes = [(one.name, one.type, tuple(size for size in one.shape if isinstance(size, int))) for one in names.inputs]
    return judge(tree, {**feeds(seed, shapes), **fed}, onnxruntime)


def _kind_of(reason: str) -> str:
    """A reason without what it is about."""
    return re.sub(r"'[^']*'|\[[^]]*\]|-?\d+(\.\d+)?", "_", reason)[:110]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--onnxruntime", action="store_true")
    parser.add_argument("--show", type=int)
    options = parser.parse_args()
    if options.show is not None:
        print(json.dumps(model(options.show)[0], indent=1))
        print(of_seed(options.show, options.onnxruntime))
        return
    kinds: Counter[str] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], int] = {}
    for seed in range(options.seed, options.seed + options.count):
        verdict = of_seed(seed, options.onnxruntime)
        kinds[verdict.kind] += 1
        if verdict.kind in ("different", "wrongly invalid"):
            print(seed, verdict.kind, verdict.reason[:300], flush=True)
        key = (verdict.kind, _kind_of(verdict.reason))
        reasons[key] += 1
        example.setdefault(key, seed)
    for (kind, reason), count in reasons.most_common():
        if kind not in ("equal", "different"):
            print(f"{count:5} {kind:10} {reason} (seed {example[kind, reason]})")
    print(dict(kinds))


if __name__ == "__main__":
    main()
