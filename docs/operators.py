"""Writes docs/operators.md from the tables: what becomes of each of ONNX's operators in each target.

python docs/operators.py [--check]     --check: writes nothing, and fails where the file isn't what the tables say
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import onnx.defs
from backedge.convert.hlo.lowering.to_hlo import RULES as HLO
from backedge.convert.mdf.lowering.prepare import COMPOSED as MDF_COMPOSED
from backedge.convert.mdf.lowering.scope import EXPRESSIONS as MDF
from backedge.convert.openvino.lowering.to_openvino import RULES as OPENVINO
from backedge.passes.core import CORE, is_core
from backedge.passes.decompose.library import source
from backedge.passes.schemas import HUB_OPSET, histories
from backedge.runtime.compiled.operators import OPERATORS as COMPILED
from backedge.runtime.kernels import KERNELS

FILE = Path(__file__).with_suffix(".md")
_CONTROL = {"Loop", "Scan", "If"}
_HEAD = f"""# Operators

Written by `python docs/operators.py` from the tables of the code; ONNX up to opset {HUB_OPSET}.

- **since**: the versions of the operator, by the opset that each came with.
- **core**: its family in `passes/core.py`; or where its decomposition stands: `passes/decompose` (table), the version
  adapters of `passes/opset` (adapters), or ONNX's own function body (function).
- **OpenVINO**, **HLO**, **MDF** (its engine's form): native rule, decomposed into operators that have one, as tensors
  (sequences and optionals are resolved before), or not at all. A node may be refused all the same, by name, for its
  types or for what is known only at run time.
- **executor**: whether it has a kernel. **compiled**: code for it
  inside of compiled loops, what it is decomposed into, or loops with it are left to NumPy.

| operator | since | core, or decomposed by | OpenVINO | HLO | MDF | executor | compiled |
|---|---|---|---|---|---|---|---|
"""


def _target(native: bool, operator: tuple[str, str]) -> str:
    domain, name = operator
    if native or (not domain and name in _CONTROL):
        return "native"
    if not domain and name in CORE and CORE[name].family == "container":
        return "as tensors"
    if operator == ("", "Constant"):
        return "native"
    return _made_of(operator)


def _made_of(operator: tuple[str, str]) -> str:
    return "decomposed" if source(operator) else "-"


def rows() -> Iterator[str]:
    """A line for each operator that isn't deprecated."""
    entries = [entry for entry in onnx.defs.get_all_schemas() if not entry.deprecated]
    for entry in sorted(entries, key=lambda entry: (entry.domain, entry.name)):
        operator = entry.domain, entry.name
        title = f"{entry.domain}.{entry.name}" if entry.domain else entry.name
        family = CORE[entry.name].family if not entry.domain and entry.name in CORE else "irreducible"
        mdf = (not entry.domain and entry.name in MDF) or operator in MDF_COMPOSED
        control = not entry.domain and entry.name in _CONTROL
        kernel = operator in KERNELS or control or entry.name == "Constant"
        yield " | ".join(
            [
                f"| {title}",
                ", ".join(map(str, histories()[operator])),
                family if is_core(operator) else source(operator),
                _target(operator in OPENVINO, operator),
                _target(operator in HLO, operator),
                _target(mdf, operator),
                "kernel" if kernel else "-",
                ("code" if control or (not entry.domain and entry.name in COMPILED) else _made_of(operator)) + " |",
            ]
        )


def main() -> None:
    text = _HEAD + "\n".join(rows()) + "\n"
    if "--check" not in sys.argv[1:]:
        FILE.write_text(text, encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != text:
        sys.exit(f"{FILE.name} isn't what the tables say: run python docs/operators.py")


if __name__ == "__main__":
    main()
