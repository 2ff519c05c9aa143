"""Mutations of ONNX models: fields of protobuf messages, whatever their kind; parts of other models in their place."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from onnx import AttributeProto, ModelProto, NodeProto, helper

from .sample import FLOATS, INTEGERS, NAMES, Sample

Place = tuple[Message, FieldDescriptor]

_KINDS = {
    FieldDescriptor.CPPTYPE_INT32: "int",
    FieldDescriptor.CPPTYPE_INT64: "int",
    FieldDescriptor.CPPTYPE_UINT32: "int",
    FieldDescriptor.CPPTYPE_UINT64: "int",
    FieldDescriptor.CPPTYPE_ENUM: "enum",
    FieldDescriptor.CPPTYPE_FLOAT: "float",
    FieldDescriptor.CPPTYPE_DOUBLE: "float",
    FieldDescriptor.CPPTYPE_STRING: "text",
    FieldDescriptor.CPPTYPE_MESSAGE: "message",
}
_MOST_ITEMS = 40  # of a repeated field, that are looked at


def messages(root: Message) -> Iterator[Message]:
    """A message and all in it."""
    yield root
    for field, value in root.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in list(value)[:_MOST_ITEMS] if field.is_repeated else [value]:
                yield from messages(inner)


def mutated(sample: Sample, random: Random, others: list[Sample]) -> Sample:
    """One to four changes of a model; seldom of its bytes."""
    if random.random() < 0.03:
        return sample.but(_bytes(sample.data, random))
    model = ModelProto.FromString(sample.data)
    for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
        with contextlib.suppress(ValueError, TypeError):  # what this field can't hold
            random.choice(_CHANGES)(model, random, others)
    with contextlib.suppress(ValueError, RecursionError):
        return sample.but(model.SerializeToString())
    return sample


def _bytes(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 2, 8))):
        if not changed:
            break
        at = random.randrange(len(changed))
        match random.randrange(4):
            case 0:
                changed[at] = random.randrange(256)
            case 1:
                changed[at] ^= 1 << random.randrange(8)
            case 2:
                del changed[at : at + random.choice((1, 4, 64))]
            case _:
                del changed[at:]
    return bytes(changed)


def _kind(field: FieldDescriptor) -> str:
    found = _KINDS.get(field.cpp_type, "int")
    return "bytes" if found == "text" and field.type == FieldDescriptor.TYPE_BYTES else found


def _value(kind: str, old: Any, model: Message, field: FieldDescriptor, random: Random) -> Any:
    """Another value for a field that isn't a message."""
    if kind == "int":
        return random.choice((*INTEGERS, old + 1, old - 1, -old, random.randrange(30)))
    if kind == "enum":
        return random.choice([*field.enum_type.values_by_number, 99])
    if kind == "float":
        return random.choice((*FLOATS, old + 1))
    if kind == "text":
        alike = [
            text
            for message in messages(model)
            for other, value in message.ListFields()
            if other.type == FieldDescriptor.TYPE_STRING
            for text in (value if other.is_repeated else [value])
        ]
        return random.choice((*alike[:400], *NAMES))
    cut = random.randrange(len(old) + 1)
    return random.choice((old[:cut], old + b"\0" * cut, b"", b"\xff\xfe", bytes(reversed(old)), b"NEAREST", b"abc"))


def _places(model: Message) -> list[Place]:
    return [(message, field) for message in messages(model) for field, _ in message.ListFields()]


def _change(model: Message, random: Random, others: list[Sample]) -> None:
    """Any field that is set: another value, another count, gone."""
    message, field = random.choice(_places(model))
    name, kind = field.name, _kind(field)
    if not field.is_repeated:
        if kind == "message" or random.random() < 0.15:
            message.ClearField(name)
        else:
            setattr(message, name, _value(kind, getattr(message, name), model, field, random))
        return
    held = getattr(message, name)
    at = random.randrange(len(held))
    match random.randrange(5):
        case 0:
            del held[at]
        case 1:
            items = list(held)
            random.shuffle(items)
            del held[:]
            held.extend(items)
        case 2:
            held.extend([held[at]])
        case 3:
            del held[at:]
        case _ if kind != "message":
            held[at] = _value(kind, held[at], model, field, random)


def _reference(model: ModelProto, random: Random, others: list[Sample]) -> None:
    """A node's input, output or name becomes another name of the model: cycles, twofold values, wrong types."""
    nodes = [message for message in messages(model) if isinstance(message, NodeProto)]
    node = random.choice(nodes) if nodes else None
    names = [name for one in nodes for name in (*one.input, *one.output)] + [info.name for info in model.graph.input]
    held = random.choice((node.input, node.output)) if node is not None else None
    if not names or held is None:
        return
    if held and random.random() < 0.7:
        held[random.randrange(len(held))] = random.choice((*names, ""))
    else:
        held.append(random.choice((*names, "", "new")))


def _unset(model: Message, random: Random, others: list[Sample]) -> None:
    """A field that isn't set gets a value."""
    message = random.choice(list(messages(model)))
    field = random.choice(message.DESCRIPTOR.fields)
    kind = _kind(field)
    if kind == "message":
        held = getattr(message, field.name)
        held.add() if field.is_repeated else held.SetInParent()
        return
    value = _value(kind, {"text": "", "bytes": b""}.get(kind, 0), model, field, random)
    if field.is_repeated:
        getattr(message, field.name).append(value)
    else:
        setattr(message, field.name, value)


def _spliced(model: Message, random: Random, others: list[Sample]) -> None:
    """A message in the place of another of its kind, of this model or another one."""
    source = model if random.random() < 0.5 else ModelProto.FromString(random.choice(others).data)
    target = random.choice(list(messages(model)))
    alike = [one for one in messages(source) if one.DESCRIPTOR is target.DESCRIPTOR and one is not target]
    if alike and target is not model:
        copied = type(target)()
        copied.CopyFrom(random.choice(alike))
        target.CopyFrom(copied)


def _operator(model: Message, random: Random, others: list[Sample]) -> None:
    """A node of another operator, or an attribute of another type."""
    held = [message for message in messages(model) if isinstance(message, NodeProto | AttributeProto)]
    chosen = random.choice(held) if held else None
    if isinstance(chosen, AttributeProto):
        chosen.type = random.choice(AttributeProto.AttributeType.values())
    elif chosen is not None:
        other = random.choice(ModelProto.FromString(random.choice(others).data).graph.node or [chosen])
        chosen.op_type, chosen.domain = other.op_type, other.domain
        if random.random() < 0.5:
            del chosen.attribute[:]
            chosen.attribute.extend(other.attribute)


def _attribute(model: ModelProto, random: Random, others: list[Sample]) -> None:
    """An attribute that the operator has, or had, in its own type: numbers, texts and lists that it may not expect."""
    nodes = [message for message in messages(model) if isinstance(message, NodeProto)]
    node = random.choice(nodes) if nodes else None
    history = [] if node is None else _schemas().get((node.domain, node.op_type), [])
    known = [one for schema in history for one in schema.attributes.values() if one.type.name in _DRAWN]
    if node is None or not known:
        return
    attribute = random.choice(known)
    kept = [one for one in node.attribute if one.name != attribute.name]
    held = [one for one in node.attribute if one.name == attribute.name]
    value: Any = _DRAWN[attribute.type.name](random)
    if held and isinstance(value, list) and random.random() < 0.5:  # another length
        old = list(helper.get_attribute_value(held[0])) if held[0].type == attribute.type.value else []
        value = random.choice((old[:-1], old + old[-1:], old * 2, old[:1]))
    del node.attribute[:]
    kept.append(helper.make_attribute(attribute.name, value, attr_type=attribute.type.value))
    node.attribute.extend(kept)


@cache
def _schemas() -> dict[tuple[str, str], list[Any]]:
    found: dict[tuple[str, str], list[Any]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        found.setdefault((schema.domain, schema.name), []).append(schema)
    return found


def _listed(draw: Callable[[Random], Any]) -> Callable[[Random], Any]:
    return lambda random: [draw(random) for _ in range(random.choice((0, 1, 1, 2, 2, 3, 4, 8)))]


def _number(random: Random) -> int:
    return random.choice((*range(-5, 6), *INTEGERS))


def _spelling(random: Random) -> str:
    return random.choice(("", "a", "NOTSET", "VALID", "SAME_UPPER", "linear", "reverse", "mean", "Relu", "add"))


_DRAWN: dict[str, Callable[[Random], Any]] = {
    "INT": _number,
    "FLOAT": lambda random: random.choice(FLOATS),
    "STRING": _spelling,
    "INTS": _listed(_number),
    "FLOATS": _listed(lambda random: random.choice(FLOATS)),
    "STRINGS": _listed(_spelling),
}


def _shape(model: ModelProto, random: Random, others: list[Sample]) -> None:
    """Another rank or other sizes of a tensor of the interface; what is told of other values goes."""
    graph = model.graph
    held = [info for info in graph.input if info.type.HasField("tensor_type")]
    if not held:
        return
    shape = random.choice(held).type.tensor_type.shape
    sizes = [size.dim_value for size in shape.dim]
    at = random.randrange(len(sizes) + 1)
    match random.randrange(4):
        case 0:
            sizes.insert(at, random.choice((0, 1, 1, 2, 3)))
        case 1:
            del sizes[at : at + 1]
        case 2:
            sizes = [random.choice((1, 1, 2, 3)) for _ in range(random.randrange(7))]
        case _:
            sizes[at : at + 1] = [random.choice((0, 1, 2, 3, 5))] if at < len(sizes) else []
    del shape.dim[:]
    for size in sizes:
        shape.dim.add(dim_value=size)
    if random.random() < 0.8:
        del graph.value_info[:]
        for info in graph.output:
            info.type.tensor_type.ClearField("shape") if info.type.HasField("tensor_type") else None


def _version(model: ModelProto, random: Random, others: list[Sample]) -> None:
    """Another opset."""
    for entry in model.opset_import:
        entry.version = random.choice((*range(1, 30), *INTEGERS))


_CHANGES = (
    _change,
    _change,
    _change,
    _change,
    _reference,
    _reference,
    _unset,
    _spliced,
    _operator,
    _operator,
    _attribute,
    _attribute,
    _shape,
    _shape,
    _version,
)


def reductions(sample: Sample) -> Iterator[Sample]:
    """The model with one thing less, large things first."""
    try:
        model = ModelProto.FromString(sample.data)
    except Exception:
        return
    listed = list(messages(model))
    for depth_first in (False, True):  # whole items, then single fields
        for at, message in enumerate(listed):
            for field, value in message.ListFields():
                for item in range(len(value)) if field.is_repeated and not depth_first else ():
                    copied = ModelProto()
                    copied.CopyFrom(model)
                    del getattr(list(messages(copied))[at], field.name)[item]
                    yield sample.but(copied.SerializeToString())
                if depth_first:
                    copied = ModelProto()
                    copied.CopyFrom(model)
                    list(messages(copied))[at].ClearField(field.name)
                    yield sample.but(copied.SerializeToString())
