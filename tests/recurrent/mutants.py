"""Models changed at random in one or two places of the loop's body: most are no recurrences any more."""

from __future__ import annotations

import random

import onnx

_ALIKE = (
    ("Add", "Sub", "Mul", "Max"),
    ("Sigmoid", "Tanh", "Relu", "Softsign", "Identity", "Neg"),
    ("Less", "LessOrEqual", "Greater", "GreaterOrEqual"),
)


def _body(model: onnx.ModelProto) -> onnx.GraphProto:
    (loop,) = [node for node in model.graph.node if node.op_type in ("Loop", "Scan")]
    return next(attribute.g for attribute in loop.attribute if attribute.name == "body")


def _shapes(model: onnx.ModelProto, body: onnx.GraphProto) -> dict[str, tuple[int, tuple[int | str, ...]]]:
    """Element type and shape of what the body has, by name."""
    inferred = _body(onnx.shape_inference.infer_shapes(model))
    found: dict[str, tuple[int, tuple[int | str, ...]]] = {}
    for value in (*inferred.input, *inferred.output, *inferred.value_info):
        type = value.type.tensor_type
        found[value.name] = type.elem_type, tuple(dim.dim_value or dim.dim_param for dim in type.shape.dim)
    for tensor in model.graph.initializer:
        found[tensor.name] = tensor.data_type, tuple(tensor.dims)
    return found


def mutant(model: onnx.ModelProto, chance: random.Random) -> onnx.ModelProto:
    """A copy with one to three changes: another operator, another operand of the same shape, operands swapped, another
    value carried or handed out."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    body = _body(model)
    shapes = _shapes(model, body)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3))):
        place = chance.randrange(len(body.node))
        node = body.node[place]
        known = {value.name for value in body.input} | {tensor.name for tensor in model.graph.initializer}
        known |= {name for earlier in body.node[:place] for name in earlier.output}
        change = chance.choice(("operator", "operand", "operand", "operand", "swap", "leave"))
        if change == "operator":
            kinds = next((kinds for kinds in _ALIKE if node.op_type in kinds), ())
            if kinds:
                node.op_type = chance.choice(kinds)
        elif change == "operand" and node.input:
            index = chance.randrange(len(node.input))
            alike = sorted(name for name in known if name in shapes and shapes[name] == shapes.get(node.input[index]))
            if alike:
                node.input[index] = chance.choice(alike)
        elif change == "swap" and len(node.input) > 1:
            first, second = node.input[0], node.input[1]
            node.input[0], node.input[1] = second, first
        elif change == "leave":
            index = chance.randrange(len(body.output))
            made = {name for other in body.node for name in other.output} | {value.name for value in body.input}
            taken = {value.name for value in body.output}
            alike = sorted(
                name
                for name in made - taken
                if shapes.get(name) == shapes.get(body.output[index].name) and name in shapes
            )
            if alike:
                source = chance.choice(alike)
                new = f"{body.output[index].name}_{source}_leaves"
                body.node.append(onnx.helper.make_node("Identity", [source], [new]))
                body.output[index].name = new
    return model
