"""HLO -> the hub: the passes before the walk, every rule, and the walk that applies them.

A module for each family of operations. Before they see a graph, what is called stands where it is called
(`inline.py`), complex numbers are pairs of real ones (`complex_pairs.py`), and loops are canonical (`while_loops.py`).
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

from ....passes.errors import Unsupported
from ....passes.graph import NOTES, Graph, Node, bulk
from ....passes.hub import HUB, check_types
from ....passes.loop import DOMAIN as LOOPS
from ....passes.naming import drop_unused_constants, name_outputs
from ....passes.pipeline import Pipeline
from ....passes.rewrite import Builder, Rewriter, Rule, combine
from ....passes.structure.simplify import RemoveDead
from ....passes.structure.slots import PruneSlots
from ..dialect import META, Form
from ..inline import inline_calls
from .complex_pairs import split_complex
from .while_loops import recover_loops


def _found() -> list[dict[tuple[str, str], list[Rule]]]:
    """Every module's rules, while modules are still being added."""
    tables = []
    for entry in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if entry.name in ("walk", "while_loops"):
            continue
        try:
            module = importlib.import_module(f".{entry.name}", __package__)
        except Exception as error:
            print(f"skipped {entry.name}: {error}", file=sys.stderr)
            continue
        if hasattr(module, "RULES") and entry.name != "complex_pairs":
            tables.append(module.RULES)
    return tables


RULES = combine(*_found())


def _refuse(op: Builder, node: Node) -> None:
    raise Unsupported(node, f"HLO's {node.op_type} has no form in ONNX")


def raise_graph(graph: Graph) -> Graph:
    """A hub graph of an HLO graph; the old one stays as it was.

    Raises:
        Unsupported: an operation, one of its attributes, or an element type has no form in ONNX.
        InvalidModel: an operation contradicts itself.
    """
    with bulk():
        plain = inline_calls(graph)
        plain = split_complex(plain)
        plain = plain.copy() if plain is graph else plain
        RemoveDead()(plain)
        plain = recover_loops(plain)
        rules = {**RULES, (LOOPS, "Loop"): [Builder.copy]}
        rewriter = Rewriter(HUB, rules, _refuse)
        new = rewriter.run(plain)
        form = graph.meta.get(META)
        if isinstance(form, Form) and len(form.outputs) == len(new.outputs):
            name_outputs(rewriter, new, form.outputs)
        steps = Pipeline((RemoveDead(), PruneSlots()))
        while steps(new).modified:
            pass
        drop_unused_constants(new)
    check_types(new)
    if rewriter.notes:
        new.meta[NOTES] = list(dict.fromkeys(rewriter.notes))
    return new
