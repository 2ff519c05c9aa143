"""Random valid ONNX models of one seed each. Every value has an example: a node is kept if it runs on those."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper

from .evaluate import ELEMENTS, NARROW, dtype, element, proto, results, single, type_of

T = TypeVar("T")

OPSETS = tuple(range(7, 29))
_COMMON = ("float",) * 8 + ("int64",) * 3 + ("bool",) * 2 + ("double", "double", "int32", "int32", "float16")
_MOST = 200  # elements of one value
VIEW_SHARE = 0.2
"""How many of the models are made of `operators.VIEWS`."""
_NOT_DRAWN = frozenset(
    [
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
        "Bernoulli",
        "Multinomial",
        "ImageDecoder",
        "ZipMap",
        "CastMap",
        "DictVectorizer",
        "SVMClassifier",
        "SVMRegressor",
        "TreeEnsembleClassifier",
        "CategoryMapper",
        "If",
        "Loop",
        "Scan",
        "SequenceMap",
    ]
)
"""Operators that draw random numbers, read files, hold tables that must fit together, or have regions, which `regions`
makes."""


_ML = helper.make_opsetid("ai.onnx.ml", 3)
"""The version of classical models' operators."""

_ANY_CONSTANT = 9
_FLOATS = ("tensor(float)", "tensor(double)", "tensor(float16)")
"""What Constant gives in the opsets before."""


class Missing(Exception):
    """There is no such operand."""


@dataclass(frozen=True)
class Value:
    """A value in reach, and what it is on the example inputs."""

    name: str
    type: str
    example: Any

    @property
    def element(self) -> str:
        return element(self.type)

    @property
    def tensor(self) -> bool:
        return self.type.startswith("tensor")

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.example)

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class Emitted:
    """A node with what it is given, captured values among it, and what it gives."""

    node: onnx.NodeProto
    given: Sequence[Value]
    made: Sequence[Value]


@dataclass
class Scope:
    """A graph in the making: its nodes, and the values in reach, the newest last."""

    pool: list[Value]
    nodes: list[onnx.NodeProto]
    depth: int = 0
    closed: bool = False  # nothing from outside: a function's body
    ends: list[Value] = field(default_factory=list)  # values that nothing is made of


class Maker:
    """One model in the making."""

    def __init__(self, seed: int, opset: int | None = None, views: float = VIEW_SHARE) -> None:
        """
        Args:
            views: the share of models that are made of what `operators.VIEWS` lists only, with sizes that are open or
                not, and 1 mostly: runtimes join such operators and leave them out, wrongly where a size is 1.
        """
        self.random = random.Random(f"fuzz {seed}")
        self.of_views = self.random.random() < views
        self.numbers = np.random.default_rng(seed)
        self.opset = self.random.choice(OPSETS) if opset is None else opset
        self.ir = ir_version(self.opset)
        self.inputs: list[Value] = []
        self.shapes: dict[str, list[int | str | None]] = {}
        self.initializers: list[onnx.TensorProto] = []
        self.functions: list[onnx.FunctionProto] = []
        self.emitted: list[Emitted] = []  # in all graphs
        self.constants: set[str] = set()
        self.count = 0
        self.rare = self.random.choice((0.0, 0.1, 0.5))  # how often a type isn't one of the common ones
        self.wild = self.random.random() < 0.1  # examples and constants with zeros of both signs, infinities, NaN
        self.open = self.random.choice((0.0, 0.4, 1.0) if self.of_views else (0.0, 0.0, 0.4))  # of inputs' sizes

    # choosing ----------------------------------------------------------------------------------------

    def one(self, items: Sequence[T]) -> T:
        if not items:
            raise Missing
        return self.random.choice(items)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def some(self, items: Sequence[T], least: int = 0) -> list[T]:
        items = list(items)
        return self.random.sample(items, self.random.randint(min(least, len(items)), len(items)))

    def name(self, hint: str) -> str:
        self.count += 1
        return f"{hint.lower()}_{self.count}"

    def size(self) -> int:
        if self.of_views:
            return self.random.choice((1, 1, 1, 2, 3))
        return self.random.choice((1, 1, 2, 2, 3, 3, 4, 5, 0) if self.chance(0.3) else (1, 2, 2, 3, 3, 4))

    def dims(self, low: int = 0, high: int = 4) -> tuple[int, ...]:
        while True:
            made = tuple(self.size() for _ in range(self.random.randint(low, high)))
            if np.prod(made, dtype=int) <= _MOST // 2:
                return made

    def pick_element(self, allowed: Sequence[str]) -> str:
        """One of the element types, the common ones mostly."""
        allowed = [name for name in allowed if name in ELEMENTS]
        common = [name for name in _COMMON if name in allowed]
        return self.one(common) if common and not self.chance(self.rare) else self.one(allowed)

    # values ------------------------------------------------------------------------------------------

    def array(self, kind: str, shape: Sequence[int], low: int = -4, high: int = 6) -> np.ndarray[Any, Any]:
        """Random numbers of an element type; `low` and `high` are for integers."""
        count = int(np.prod(shape, dtype=int))
        if kind == "string":
            words = ("ab", "Cd", "e f", "", "a,b", "é", "12", "x")
            return np.array([self.random.choice(words) for _ in range(count)], object).reshape(shape)
        if kind == "bool":
            return np.array([self.chance(0.5) for _ in range(count)], bool).reshape(shape)
        if "int" in kind:
            least = -8 if kind == "int4" else max(low, -4)
            whole = [self.random.randint(max(0, low) if kind[0] == "u" else least, min(high, 7)) for _ in range(count)]
            if self.wild and kind not in ("int4", "uint4"):
                info = np.iinfo(dtype(kind))
                whole = [self.one((int(info.max), int(info.min), n)) if self.chance(0.1) else n for n in whole]
            return np.array(whole, dtype(kind) if whole else None).astype(dtype(kind)).reshape(shape)
        numbers = self.numbers.normal(size=count) * self.random.choice((1.0, 1.0, 2.0, 0.3))
        if self.chance(0.3):
            numbers = np.round(numbers * 2) / 2
        if self.wild:
            special = self.numbers.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, 100.0], size=count)
            numbers = np.where(self.numbers.random(count) < 0.15, special, numbers)
        with np.errstate(all="ignore"):
            return np.asarray(numbers).astype(dtype(kind)).reshape(shape)

    def constant(self, s: Scope, array: Any) -> Value:
        """A constant: an initializer (of the model), or a node here, where the opset's Constant gives its type."""
        array = np.asarray(array)
        name = self.name("c")
        type, tensor = type_of(array), tensor_of(array, name)
        is_given = self.opset >= _ANY_CONSTANT or type in _FLOATS
        if s.closed and not is_given:
            raise Missing
        if (self.chance(0.4) or not is_given) and not s.closed:
            self.initializers.append(tensor)
        else:
            s.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        self.constants.add(name)
        return Value(name, type, array)

    def ints(self, s: Scope, *numbers: int) -> Value:
        return self.constant(s, np.array(numbers, np.int64))

    def scalar(self, s: Scope, number: float, kind: str = "int64") -> Value:
        return self.constant(s, np.asarray(number).astype(dtype(kind)))

    def input(self, array: np.ndarray[Any, Any]) -> Value:
        """A new input of the model, whatever graph asks for it."""
        value = Value(self.name("x"), type_of(array), array)
        self.inputs.append(value)
        self.shapes[value.name] = [
            self.one((f"N{size}", None, f"N{size}", f"{value.name}_d{k}")) if self.chance(self.open) else size
            for k, size in enumerate(array.shape)
        ]
        return value

    def new(self, s: Scope, array: np.ndarray[Any, Any]) -> Value:
        return self.input(array) if not s.closed and self.chance(0.6) else self.constant(s, array)

    def find(
        self,
        s: Scope,
        kinds: Sequence[str],
        fits: Callable[[Value], bool] = lambda value: True,
        shape: Sequence[int] | None = None,
        ranks: tuple[int, int] = (0, 4),
        share: float = 0.8,
    ) -> Value:
        """A tensor of one of the element types: mostly one in reach, rather a late one, else a new one.

        Args:
            shape: what a new one has, and the found one must; else `ranks` bound it.
        """
        found = [
            value
            for value in s.pool
            if value.tensor
            and value.element in kinds
            and (value.shape == tuple(shape) if shape is not None else ranks[0] <= value.rank <= ranks[1])
            and fits(value)
        ]
        if found and self.chance(share):
            return self.one(found[-6:]) if self.chance(0.6) else self.one(found)
        for _ in range(8):
            made = self.array(self.pick_element(kinds), self.dims(*ranks) if shape is None else shape)
            value = Value("", type_of(made), made)
            if fits(value):
                return self.new(s, made)
        raise Missing

    # nodes -------------------------------------------------------------------------------------------

    def emit(
        self,
        s: Scope,
        op: str,
        inputs: Sequence[Value | None],
        outputs: int = 1,
        domain: str = "",
        extra: Sequence[Value] = (),
        **attributes: Any,
    ) -> list[Value]:
        """Add a node, if it runs on the examples and what it gives isn't large.

        Args:
            extra: what its regions capture.

        Raises:
            Missing: it doesn't.
        """
        names = ["" if value is None else value.name for value in inputs]
        while names and not names[-1]:
            names.pop()
        node = helper.make_node(op, names, [self.name(op) for _ in range(outputs)], domain=domain)
        for key, value in attributes.items():  # an empty list tells no type; those that are drawn here are of integers
            kind = onnx.AttributeProto.INTS if value == [] else None
            node.attribute.append(helper.make_attribute(key, value, attr_type=kind))
        given = {value.name: value for value in [*inputs, *extra] if value is not None}
        model = single(node, {k: v.type for k, v in given.items()}, self.opset, self.ir, self.functions)
        found = results(model, {name: value.example for name, value in given.items()}, self.chance(0.3))
        if found is None or len(found) != outputs:
            raise Missing
        made = []
        for name, example in zip(node.output, found, strict=True):
            type = type_of(example)
            flat = example if isinstance(example, list) else [example]
            if not type or sum(np.size(one) for one in flat) > _MOST or len(flat) > 8:
                raise Missing
            if op == "Optional":
                type = f"optional({type})"
            made.append(Value(name, type, example if isinstance(example, list) else np.asarray(example)))
        s.nodes.append(node)
        s.pool.extend(made)
        self.emitted.append(Emitted(node, list(given.values()), made))
        return made

    def attempt(self, s: Scope, step: Callable[[Maker, Scope], Any]) -> bool:
        """Let a step add nodes; without effect where it can't."""
        lists: tuple[list[Any], ...] = (
            s.nodes, s.pool, self.inputs, self.initializers, self.functions, self.emitted,
        )  # fmt: skip
        state = list(map(len, lists))
        try:
            step(self, s)
        except Missing:
            for items, length in zip(lists, state, strict=True):
                del items[length:]
            return False
        return True

    # the model ---------------------------------------------------------------------------------------

    def model(self) -> onnx.ModelProto:
        from .operators import operator
        from .regions import REGIONS

        s = Scope([], [])
        for _ in range(self.random.randint(1, 3)):
            s.pool.append(self.input(self.array(self.pick_element(list(ELEMENTS)), self.dims(0, 3))))
        wanted, regions = self.random.randint(1, 9), self.random.choice((0.0, 0.15, 0.4))
        tries = 0
        while wanted and tries < 60:
            tries += 1
            known = len(self.inputs)
            wanted -= self.attempt(s, self.one(REGIONS) if self.chance(regions) else operator)
            s.pool[:0] = [value for value in self.inputs[known:] if value not in s.pool]
        return self.finish(s)

    def finish(self, s: Scope) -> onnx.ModelProto:
        used = {name for node in s.nodes for name in node.input}
        made = [value for value in [*s.pool, *s.ends] if any(value.name in node.output for node in s.nodes)]
        ends = [value for value in made if value.name not in used] or made[-1:]
        outputs = list({v.name: v for v in [*ends[-5:], *self.some(made)[:1]]}.values())
        if not outputs:  # nothing ran: a model of one Identity
            value = s.pool[0]
            s.nodes.append(helper.make_node("Identity", [value.name], ["y"]))
            outputs = [replace(value, name="y")]
        inputs = [helper.make_value_info(v.name, proto(v.type, self.shapes.get(v.name))) for v in self.inputs]
        infos = [helper.make_value_info(v.name, proto(v.type, _rank(v))) for v in outputs]
        graph = helper.make_graph(s.nodes, "g", inputs, infos, self.initializers)
        imports = [helper.make_opsetid("", self.opset), *([_ML] if self.functions or _uses(graph, _ML.domain) else [])]
        if self.functions:
            imports.append(helper.make_opsetid("local", 1))
        model = helper.make_model(graph, opset_imports=imports, ir_version=self.ir, functions=self.functions)
        return _declared(model)

    def feeds(self) -> dict[str, Any]:
        return {value.name: value.example for value in self.inputs}

    # regions' values ---------------------------------------------------------------------------------

    def inner(self, s: Scope, pool: Sequence[Value], closed: bool = False) -> Scope:
        return Scope([*([] if closed else s.pool), *pool], [], s.depth + 1, closed or s.closed)


def tensor_of(array: np.ndarray[Any, Any], name: str) -> onnx.TensorProto:
    """An array, of text maybe, as a constant has it."""
    if type_of(array) != "tensor(string)":
        return numpy_helper.from_array(array, name)
    words = [str(word).encode() for word in array.reshape(-1)]
    return helper.make_tensor(name, ELEMENTS["string"], array.shape, words)  # type: ignore[arg-type]


def _uses(graph: onnx.GraphProto, domain: str) -> bool:
    """Whether there is an operator of a domain, in regions, too."""
    inner = [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
    return any(node.domain == domain for node in graph.node) or any(_uses(one, domain) for one in inner)


def ir_version(opset: int) -> int:
    return next(version for version, table in _IR if opset <= table)


_IR = ((8, 15), (9, 20), (10, 24), (12, 27), (13, 99))
"""An IR version, and the last opset that goes with it; functions need 8."""


def _declared(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with what shape inference says of its outputs' shapes: a checker wants them to have one."""
    try:
        known = onnx.shape_inference.infer_shapes(model, strict_mode=False)
    except Exception:
        return model
    for mine, theirs in zip(model.graph.output, known.graph.output, strict=True):
        if theirs.type.HasField("tensor_type") and theirs.type.tensor_type.HasField("shape"):
            shape = theirs.type.tensor_type.shape
            for dim in shape.dim:  # symbols that inference made up say nothing
                if dim.dim_param and dim.dim_param.startswith("unk__"):
                    dim.Clear()
            mine.type.tensor_type.shape.CopyFrom(shape)
    return model


def _rank(value: Value) -> list[int | str | None] | None:
    unknown: list[int | str | None] = [None] * (value.rank if value.tensor else 0)
    return unknown if value.tensor else None


def schemas(opset: int) -> list[defs.OpSchema]:
    """The operators of an opset that nodes can be drawn of."""
    found: dict[str, defs.OpSchema] = {}
    for schema in defs.get_all_schemas_with_history():
        newest = {"": opset, _ML.domain: _ML.version}.get(schema.domain, 0)
        if schema.name not in _NOT_DRAWN and schema.since_version <= newest:
            known = found.get(schema.name)
            if known is None or known.since_version < schema.since_version:
                found[schema.name] = schema
    return sorted((one for one in found.values() if not one.deprecated), key=lambda one: one.name)


__all__ = ["NARROW", "OPSETS", "Emitted", "Maker", "Missing", "Scope", "Value", "schemas", "tensor_of"]
