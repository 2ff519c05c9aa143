"""Where a list of Python's, the default value of a port, is as good as the array that an edge brings later."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....passes.errors import InvalidModel
from ....runtime.oracles.mdf_syntax import callee, parse, subexpressions
from ..model import Node, Plain


def is_taken_as_array(node: Node, port: str) -> bool:
    """Whether all that a node does with a port is hand it to functions of NumPy, which make arrays of lists."""
    if any(member.args or member.function for member in (*node.functions, *node.parameters)):
        return False  # which see it under other names, too
    return all(_is_taken_in(text, port) for text in _texts(node))


def _texts(node: Node) -> Iterator[Plain]:
    yield from (function.value for function in node.functions)
    yield from (output.value for output in node.outputs)
    for parameter in node.parameters:
        yield from (parameter.value, parameter.initial, parameter.derivative)
        for condition in parameter.conditions:
            yield from (condition.test, condition.value)


def _is_taken_in(text: Plain, port: str) -> bool:
    if not isinstance(text, str) or text == port or port not in text:
        return True
    try:
        waiting = [parse(text, "an expression")]
    except InvalidModel:
        return True  # a name
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Name) and part.id == port:
            return False
        inner = subexpressions(part)
        if isinstance(part, ast.Call) and callee(part)[0] == "numpy":
            inner = [one for one in inner if not (isinstance(one, ast.Name) and one.id == port and one in part.args)]
        waiting += inner
    return True
