"""One of the two models of a comparison: who can run it, and what is known of its inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...passes.types import Type
from .iterations import Stacking
from .runnables import Runnable


@dataclass(slots=True)
class Side:
    """One of the two models.

    Attributes:
        name: for the report, usually the path.
        runnables: all that can run it.
        inputs, outputs: the model's names in order; None: as the trials have them, as the first answer has them.
        stackings: output -> how a loop stacked it, if the graph says so.
        unsized: outputs into which something goes that a loop stacked.
        types: declared types of inputs and outputs by name, as far as they are known.
        optional: inputs with a default.
        random: operators that draw random numbers, if there are any: then values that differ say nothing.
        watch: gives operator -> kinds of special values that it saw instead of outputs, see `SpecialValues`.
        twin: the other side's runtime, where it reads this file as well: asked where answers of two different runtimes
            leave a trial undecided.
        third: a further reader of this file, asked before its own runtime's word makes a difference.
    """

    name: str
    runnables: Sequence[Runnable]
    inputs: Sequence[str] | None = None
    outputs: Sequence[str] | None = None
    stackings: Mapping[str, Stacking] = field(default_factory=dict)
    unsized: frozenset[str] = frozenset()
    types: Mapping[str, Type | None] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()
    random: Sequence[str] = ()
    watch: Runnable | None = None
    twin: Runnable | None = None
    third: Runnable | None = None
