"""What MDF's engine is kept from evaluating.

The engine evaluates a model's texts with Python's `eval`, builtins included, and takes for a text whatever comes to be
one while it runs: a default value, an item of a list, an edge's weight. So its `eval` is replaced by `evaluate`, which
looks at every text first: an expression as `mdf_syntax` has it, whose calls of functions of numpy and math are of those
in the tables below. There are no other builtins. What stands in the file is looked at before anything of it runs, too.
"""

from __future__ import annotations

import ast
import builtins
import functools
import math
import re
from collections.abc import Iterator
from types import CodeType
from typing import Any

import numpy as np

from ...passes.errors import InvalidModel, Unsupported
from . import mdf_syntax
from .mdf_names import Plain, Tree, as_mapping, objects

_NAMESPACE = {name: getattr(builtins, name) for name in (*mdf_syntax.BUILTINS, "__import__")}
"""NumPy itself asks for `__import__`; no expression can."""
_CONSTANTS = {"e", "euler_gamma", "inf", "nan", "newaxis", "pi", "tau"}
_TYPES = re.compile(r"(?:bool|u?int(?:8|16|32|64|p)?|float(?:16|32|64)|complex(?:64|128)|double|half|single|str)_?")
_NAMES = """
    all allclose amax amin angle any append arange argmax argmin argsort argwhere around array array_equal array_split
    asarray astype atleast_1d atleast_2d atleast_3d average bincount broadcast_to choose clip column_stack compress
    concat concatenate convolve copy correlate count_nonzero cov cross cumprod cumsum delete diag diagonal diff digitize
    dot dsplit dstack einsum expand_dims eye fix flatnonzero flip fliplr flipud full full_like gradient histogram
    hsplit hstack identity imag inner insert interp isclose isin kron linspace logspace max mean median meshgrid
    min moveaxis nan_to_num nanmax nanmean nanmin nanprod nanstd nansum nanvar ndim nonzero ones ones_like outer
    pad percentile permute_dims prod ptp quantile ravel real repeat reshape roll rollaxis rot90 round searchsorted
    select shape sinc size sort split squeeze stack std sum swapaxes take take_along_axis tensordot tile trace
    transpose tri tril triu unique vander var vdot vsplit vstack where zeros zeros_like

    linalg.cholesky linalg.cond linalg.det linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.inv
    linalg.lstsq linalg.matrix_power linalg.matrix_rank linalg.norm linalg.pinv linalg.qr linalg.slogdet
    linalg.solve linalg.svd
    fft.fft fft.fft2 fft.fftfreq fft.fftn fft.fftshift fft.ifft fft.ifft2 fft.ifftn fft.ifftshift fft.irfft
    fft.rfft
    random.beta random.binomial random.choice random.exponential random.gamma random.normal random.permutation
    random.poisson random.rand random.randint random.randn random.random random.random_sample random.seed
    random.standard_normal random.uniform
"""
_FUNCTIONS = frozenset(_NAMES.split())
_TABLES = re.compile(r"\b(?:onnx_ops|actr|ddm)\.")
_FUNCTION_NAME = re.compile(r"\w+|[\w.]+::\w+(?:-\d+)?")
_EVALUATED = ("value", "default_value", "default_initial_value", "time_derivative")
_CHILDREN = ("input_ports", "functions", "parameters", "output_ports")


def evaluate(text: Any, names: dict[str, Any]) -> Any:
    """What the engine's `eval` is replaced by.

    Raises:
        InvalidModel: the text reaches for what no expression may.
        SyntaxError: it isn't an expression.
        Exception: the evaluation's own.
    """
    if not isinstance(text, str):
        raise SyntaxError(f"{type(text).__name__} is no expression")
    return eval(_compiled(str(text)), {**names, "__builtins__": _NAMESPACE})


def check_texts(graph: Tree) -> None:
    """Refuse a graph of a document with a text that must not be evaluated.

    Raises:
        InvalidModel: names the place and the reason.
    """
    for where, value in texts(graph):
        _check(value, where)


def texts(graph: Tree) -> Iterator[tuple[str, Plain]]:
    """Every value that the engine evaluates if it is a text, with the place's name."""
    for where, child in children(graph):
        cases = [as_mapping(case, where) for _, case in objects(child.get("conditions"), where)]
        values = [child.get(field) for field in _EVALUATED]
        values += [case.get(field) for case in cases for field in ("test", "value")]
        values += [value for _, args in functions(child, where) for value in args.values()]
        yield from ((where, value) for value in values)


def children(graph: Tree) -> Iterator[tuple[str, Tree]]:
    """Everything of a graph's nodes in which texts stand, with the place's name."""
    for node, tree in objects(graph.get("nodes"), "nodes"):
        for kind in _CHILDREN:
            for name, child in objects(as_mapping(tree, f"node {node!r}").get(kind), f"node {node!r}"):
                known = as_mapping(child, name) if kind != "parameters" or isinstance(child, dict) else {"value": child}
                yield f"node {node!r}, {name!r}", known


def functions(child: Tree, where: str) -> Iterator[tuple[str, Tree]]:
    """The function that a parameter or function names and its arguments, written either way: none or one.

    The name is "" where there are arguments to an expression.

    Raises:
        InvalidModel: it isn't a name.
    """
    function, args = child.get("function"), child.get("args")
    if isinstance(function, dict):
        function, args = next(iter(function.items()), (None, None))
    if function is None:
        if args:
            yield "", as_mapping(args, where)
    elif isinstance(function, str) and _FUNCTION_NAME.fullmatch(function):
        yield function, as_mapping(args, where)
    else:
        raise InvalidModel(f"{where}: {_short(function)} is no function's name")


def _check(value: Plain, where: str) -> None:
    if not isinstance(value, str):
        return
    try:
        _compiled(value)
    except SyntaxError:  # an id such as "/A/Add", or something that the engine refuses itself
        return
    except InvalidModel as error:
        raise InvalidModel(f"{where}: {error}") from None


@functools.lru_cache(4096)
def _compiled(text: str) -> CodeType:
    """An expression that does no harm, compiled."""
    if _TABLES.search(text):
        raise InvalidModel(f"{_short(text)} reaches into the engine")
    number = mdf_syntax.number_in(text)
    try:
        tree = mdf_syntax.unchecked(text.strip() if number is None else repr(number))
        mdf_syntax.check(tree, text, "", _may_have)
        return compile(ast.Expression(tree), "<expression>", "eval")
    except Unsupported as refusal:
        raise InvalidModel(str(refusal)) from None
    except (ValueError, RecursionError, MemoryError):
        raise SyntaxError(f"{_short(text)} is no expression") from None


def _may_have(module: str, name: str, called: bool) -> bool:
    """Whether something of numpy or math may be called, or read."""
    if called:
        return _may_call(module, name)
    return name in _CONSTANTS or bool(_TYPES.fullmatch(name))


def _may_call(module: str, function: str) -> bool:
    if module == "math":
        return not function.startswith("_") and callable(getattr(math, function, None))
    return bool(
        function in _FUNCTIONS or _TYPES.fullmatch(function) or isinstance(getattr(np, function, None), np.ufunc)
    )


def _short(text: Any) -> str:
    return repr(str(text)[:60])
