"""Python functions -> what JAX makes of them, and which of their arguments' arrays become constants."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...passes.libraries import needed
from ...runtime.oracles.hlo_names import path_name
from ..format import Arguments, Traced

_FLAT_INDEX = re.compile(r"<flat index (\d+)>")  # what JAX calls leaves of nodes that name none


def traced(source: Any, args: Sequence[Any] | None, constants: Arguments, static_args: Arguments) -> Traced:
    """A Python function, jitted or not, lowered for arguments; or what stands for a model already, and its constants.

    Args:
        args: arrays, `jax.ShapeDtypeStruct`, trees of them. Sizes may be open: symbols of `jax.export.symbolic_shape`,
            or strings that are given to it ("b", "2*b + 1"), equal names being equal sizes. The function is exported
            then. None where `source` isn't to be traced.
        constants, static_args: see `convert`.

    Raises:
        InvalidModel: jax isn't installed.
        TypeError: there is no such argument, it has no values, or `source` was traced already.
    """
    with needed("jax", "tracing a Python function"):
        import jax
    named = constants if isinstance(constants, Mapping) else {}
    if args is None:
        kind = type(source).__name__
        if _listed(static_args):
            raise TypeError(
                f"static_args=...: this {kind} is traced already; they go with a function and its arguments"
            )
        if not isinstance(constants, Mapping):
            raise TypeError(
                f"constants=...: this {kind} doesn't hold the values of its arguments: "
                "give them by name, constants={'params': params}"
            )
        return Traced(source, {name: _arrays(jax, name, value) for name, value in named.items()})
    names = _names(source, args)
    static = _places(names, static_args, "static_args")
    places = _places(names, constants, "constants")
    if both := set(places) & set(static):
        raise TypeError(f"{names[min(both)]!r} is one of constants=... and of static_args=...")
    fixed = {place: named.get(names[place], args[place]) for place in places}
    found = {path_name(names[place]): _arrays(jax, names[place], value) for place, value in fixed.items()}
    if not static and not fixed:
        return Traced(_lowered(jax, source, args), {})
    held = {**{place: args[place] for place in static}, **fixed}
    try:
        return Traced(_lowered(jax, *_holding(jax, source, args, held, static)), found)
    except jax.errors.JAXTypeError as error:
        if static and hasattr(source, "lower"):
            error.add_note("this function is jitted: jax.jit must be told its static arguments, too (static_argnames)")
        raise


def _lowered(jax: Any, function: Callable[..., Any], args: Sequence[Any]) -> Any:
    from jax import export

    jitted: Any = function if hasattr(function, "lower") else jax.jit(function)
    scope = export.SymbolicScope()
    open_ = False

    def sized(leaf: Any) -> Any:
        nonlocal open_
        shape = tuple(getattr(leaf, "shape", ()))
        open_ |= any(not isinstance(dim, int) for dim in shape)
        if not any(isinstance(dim, str) for dim in shape):
            return leaf
        dims = [export.symbolic_shape(dim, scope=scope)[0] if isinstance(dim, str) else dim for dim in shape]
        return jax.ShapeDtypeStruct(tuple(dims), leaf.dtype)

    specs = jax.tree.map(sized, tuple(args))
    return export.export(jitted)(*specs) if open_ else jitted.lower(*specs)


def _names(function: Callable[..., Any], args: Sequence[Any]) -> list[str]:
    """What JAX calls the arguments: as the function does, `xs[1]` of `*xs`; `args[1]` where it doesn't say."""
    try:
        bound = inspect.signature(function).bind(*args)
    except (TypeError, ValueError):
        return [f"args[{place}]" for place in range(len(args))]
    names: list[str] = []
    for name, value in bound.arguments.items():
        several = bound.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
        names += [f"{name}[{place}]" for place in range(len(value))] if several else [name]
    return names


def _listed(arguments: Arguments) -> list[int | str]:
    return [arguments] if isinstance(arguments, int | str) else list(arguments)


def _places(names: Sequence[str], wanted: Arguments, option: str) -> list[int]:
    """
    Raises:
        TypeError: there is no such argument.
    """
    places: list[int] = []
    for one in _listed(wanted):
        place = names.index(one) if one in names else one
        if isinstance(place, bool) or not isinstance(place, int) or not -len(names) <= place < len(names):
            raise TypeError(f"{option}=...: there is no argument {one!r}; there are {', '.join(names) or 'none'}")
        places.append(place % len(names))
    return places


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype")


def _arrays(jax: Any, name: str, tree: Any) -> dict[str, Any]:
    """The arrays of an argument, by the names that inputs have.

    Raises:
        TypeError: one has no values.
    """
    found: dict[str, Any] = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        if not _is_array(leaf):
            continue
        shown = path_name(_FLAT_INDEX.sub(r"\1", name + jax.tree_util.keystr(path)))
        if isinstance(leaf, jax.ShapeDtypeStruct | jax.core.Tracer):
            raise TypeError(f"constants=...: {shown!r} is a {type(leaf).__name__}, which has no values")
        found[shown] = jax.random.key_data(leaf) if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf
    return found


def _holding(
    jax: Any, function: Callable[..., Any], args: Sequence[Any], held: Mapping[int, Any], static: Sequence[int]
) -> tuple[Callable[..., Any], list[Any]]:
    """A function of the arrays among its arguments, and those: static ones, and other leaves of those that are `held`,
    are what they are when it is called. The trees stay, and so the arrays' names."""
    leaves = {place: jax.tree.flatten(value) for place, value in held.items() if place not in static}
    given = list(args)
    for place in held:
        given[place] = None
    for place, (flat, tree) in leaves.items():
        given[place] = jax.tree.unflatten(tree, [leaf if _is_array(leaf) else None for leaf in flat])

    @functools.wraps(function, updated=())
    def called(*arrays: Any) -> Any:
        whole = list(arrays)
        for place in static:
            whole[place] = held[place]
        for place, (flat, tree) in leaves.items():
            new = iter(jax.tree.leaves(arrays[place]))
            whole[place] = jax.tree.unflatten(tree, [next(new) if _is_array(leaf) else leaf for leaf in flat])
        return function(*whole)

    return called, given
