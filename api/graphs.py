"""Functions of the package on graphs: from_jax, to_jax, rewrite, show."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from backedge.convert.files import load, to_hub
from backedge.convert.format import Arguments, format_of_dialect
from backedge.convert.objects import Source, stored
from backedge.convert.requested_passes import rewritten, to_dialect_after
from backedge.convert.specialize import with_values
from backedge.convert.user_passes import UserPass, user_pass
from backedge.passes.graph import Graph
from backedge.passes.libraries import needed
from backedge.passes.patterns import pattern_rule
from backedge.passes.picture import write_svg
from backedge.passes.text import lines

if TYPE_CHECKING:
    from backedge.convert.hlo.jax_function import JaxFunction

Pair = tuple[Callable[..., Any], Callable[..., Any]]


def from_jax(function: Any, *specs: Any, constants: Arguments = (), static_args: Arguments = ()) -> Graph:
    """A JAX function as a graph.

    Args:
        function: a Python function, jitted or not; or one that is lowered, compiled or exported, without `specs`.
        specs: its arguments: arrays or `jax.ShapeDtypeStruct`, or trees of them; their values don't matter. Sizes may
            be open: strings ("batch", "2*batch + 1") or symbols of `jax.export.symbolic_shape`.
        constants: which of them become constants of the graph, see `convert`.
        static_args: which of them are values of Python, see `convert`.

    Returns:
        A graph of HLO; inputs and constants have the names of the function's parameters.

    Raises:
        InvalidModel: jax isn't installed.
        Unsupported: an operation that HLO hasn't, or a size that doesn't follow from the inputs' sizes.
        TypeError: the function is none, or JAX can't trace it with these arguments.
    """
    args = specs if callable(function) and specs else None
    with stored(function, args=args, constants=constants, static_args=static_args) as file, with_values(file, {}) as it:
        return load(it.path, it.format)


def to_jax(source: Source, *, format: str | None = None) -> JaxFunction:
    """A model as a function of JAX, which can be called, jitted, mapped over batches and differentiated.

    Args:
        source: a model, see `load`.

    Returns:
        What takes the model's inputs, see `convert.hlo.jax_function.JaxFunction`.

    Raises:
        InvalidModel: jax isn't installed, or the model can't be read.
        Unsupported: the hub can't express the model, or JAX has no such inputs. What JAX can't express otherwise is
            refused when the function is called, since it may depend on the inputs' sizes.
    """
    with needed("jax", "a function of JAX"):
        from backedge.convert.hlo.jax_function import JaxFunction
    graph = load(source, format)
    named = [value.name for value in (*graph.constants, *graph.inputs) if value.data is not None]
    return JaxFunction(to_hub(graph), named)


def rewrite(source: Source, *rules: UserPass | Pair, format: str | None = None) -> Graph:
    """Apply rewriting rules or passes of one's own everywhere in a model, regions included.

    Args:
        source: a model, see `load`; a graph stays as it is.
        rules: pairs of two functions (what is looked for, what takes its place; see `pattern_rule`), or what
            `convert(passes=...)` takes. They are done one after the other.

    Returns:
        A graph of the model's dialect and version, or of the hub for a hub graph; `verify` tells whether it means the
        same. `meta["notes"]` has what passes said.

    Raises:
        InvalidModel: the model can't be read, or a rule is none.
        Unsupported: the hub can't express the model.
    """
    graph = load(source, format)
    steps = [user_pass(pattern_rule(*rule) if isinstance(rule, tuple) else rule) for rule in rules]
    if graph.dialect == "hub":
        return rewritten(steps, graph)
    return to_dialect_after(steps, graph, format_of_dialect(graph.dialect))


def show(
    source: Source,
    *,
    hub: bool = False,
    svg: str | Path | None = None,
    format: str | None = None,
    file: TextIO | None = None,
) -> None:
    """Print a model as text that a person can read, as the command `backedge show` does.

    Args:
        hub: show the hub's form, with canonical loops, instead of the model's own.
        svg: draw a picture into this file instead.
        file: instead of standard output.
    """
    graph = load(source, format)
    if svg is not None:
        write_svg(to_hub(graph), Path(svg))
        return
    for line in lines(to_hub(graph) if hub else graph):
        print(line, file=file or sys.stdout)
