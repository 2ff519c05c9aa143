"""Where onnx's reference evaluator and ONNX Runtime are known to be wrong, found by looking at the model.

An answer of a runtime that is known to be wrong for such a model must not count as the model's answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import onnx_trees

_MAX_BYTES = 256 << 20
"""Bigger files aren't searched: reading them twice costs more than the search is worth."""

_WRONG = {
    "Loop": "is wrong for Loop",
    "Scan": "is wrong for Scan",
    "StringNormalizer": "takes the accents off letters in StringNormalizer",
}
"""Operators, and what it does."""

_DISREGARDED = {
    "RNN": ("clip",),
    "GRU": ("clip", "activations"),
    "LSTM": ("clip", "activations", "input_forget"),
}
"""Recurrent operators, and the attributes that it takes no notice of."""

_STATED = ("AveragePool", "LpPool", "MaxPool", "Unsqueeze", "LinearRegressor")
"""Operators that it computes right but with some attributes (`_reference_mistakes`)."""

_BATCHES = "normalizes by the numbers of the batch itself in BatchNormalization before version 14"

_CENTRED = 16, "takes half a pixel off in RoiAlign before version 16, as later ones do by default"

_SEQUENCE_LENS = 4

_UNCOPIED: dict[str, tuple[int | None, str]] = {
    "Loop": (1, "gives one number for all passes where a Loop's body returns the iteration number itself"),
    "Scan": (None, "leaves a result of a Scan unset whose body returns an input itself"),
}
"""Loops, how many of the body's inputs it loses so (None: all), and what it does."""

_IF = b"\x22\x02If"
"""An operator's name as it stands in a file, which two letters alone would be found in any."""

_UNPOOL_SHAPE = 2

_TEXT = 8
"""`TensorProto.STRING`."""

_DOUBLE = 11
"""`TensorProto.DOUBLE`."""

_EMPTY_MASK = "ONNX Runtime gives a mask of zeros for Dropout before version 12, although nothing is dropped"

OWN_DOMAIN = ("", "ai.onnx")
"""The names of the domain of ONNX's own operators."""


def reference_faults(path: Path) -> str:
    """One line if onnx's reference evaluator computes something else than the specification says, else ""."""
    names = (*_WRONG, *_DISREGARDED, *_STATED, "BatchNormalization", "RoiAlign", *onnx_trees.TREES)
    model = _model(path, tuple(name.encode() for name in names))
    for node in _nodes(model, onnx_trees.DOMAIN):
        what = onnx_trees.reference_fault(node) if node.op_type in onnx_trees.TREES else ""
        if what:
            return f"onnx's reference evaluator {what}"
    if any(_trains(part, imports) for part, imports in _parts(model)):
        return f"onnx's reference evaluator {_BATCHES}"
    version, what = _CENTRED
    if any(_is_before(version, imports) and _has(part, "RoiAlign") for part, imports in _parts(model)):
        return f"onnx's reference evaluator {what}"
    for node in _nodes(model, *OWN_DOMAIN, onnx_trees.DOMAIN):
        what = _reference_mistakes(node) if node.op_type in _STATED else ""
        if what:
            return f"onnx's reference evaluator {what}"
    for node in _nodes(model):
        if node.op_type in _WRONG:
            return f"onnx's reference evaluator {_WRONG[node.op_type]}"
        if node.op_type not in _DISREGARDED:
            continue
        if len(node.input) > _SEQUENCE_LENS and node.input[_SEQUENCE_LENS]:
            return f"onnx's reference evaluator disregards the lengths of the sequences of {node.op_type}"
        for attribute in node.attribute:
            if attribute.name in _DISREGARDED[node.op_type]:
                return f"onnx's reference evaluator disregards {attribute.name} of {node.op_type}"
    return ""


def _reference_mistakes(node: Any) -> str:
    """What the evaluator does to a node of `_STATED`, "" for what is right."""
    given = onnx_trees.attributes_of(node)
    if node.op_type == "LinearRegressor":
        return "" if given.get("intercepts") else "makes NaN of a LinearRegressor without intercepts"
    if node.op_type == "Unsqueeze":  # before version 13; later ones hand all axes to NumPy at once
        axes = list(given.get("axes") or ())
        is_sorted = axes == sorted(axes) and (not axes or axes[0] >= 0 or len(axes) == 1)
        return "" if is_sorted else "adds the axes of Unsqueeze one after the other, not in their order"
    pads = list(given.get("pads") or ())
    uneven = pads[: len(pads) // 2] != pads[len(pads) // 2 :] or given.get("auto_pad") == b"SAME_LOWER"
    if given.get("ceil_mode") or (node.op_type == "MaxPool" and uneven):
        return f"has other windows over the edges of images in {node.op_type}"
    return ""


def onnxruntime_fault(path: Path) -> str:
    """One line if ONNX Runtime gives wrong results for the model whatever its inputs, else "".

    What the body of a loop gets without a node in between isn't copied for the body's result.
    """
    names = (*_UNCOPIED, "Dropout", "MaxUnpool", "Shrink", onnx_trees.TREES[0])
    model = _model(path, (_IF, *(name.encode() for name in names)))
    for node in _nodes(model, onnx_trees.DOMAIN):
        what = onnx_trees.onnxruntime_fault(node) if node.op_type == onnx_trees.TREES[0] else ""
        if what:
            return f"ONNX Runtime {what}"
    if any(_uses_mask(part, imports) for part, imports in _parts(model)):
        return _EMPTY_MASK
    if any(node.op_type == "Shrink" for node in _nodes(model)) and _shrinks_double(model):
        return "ONNX Runtime computes Shrink of float64 in float32"
    for node in _nodes(model):
        if node.op_type == "MaxUnpool" and len(node.input) > _UNPOOL_SHAPE and node.input[_UNPOOL_SHAPE]:
            return "ONNX Runtime takes indices of MaxUnpool for those of the shape that is given"
        if node.op_type in ("If", "Scan") and _gives_twice(node):
            return f"ONNX Runtime leaves a result of {node.op_type} unset that is another one, too"
        first, what = _UNCOPIED.get(node.op_type, (0, ""))
        for attribute in node.attribute if what else ():
            given = {value.name for value in attribute.g.input[:first]}
            if any(value.name in given for value in attribute.g.output):
                return f"ONNX Runtime {what}"
            if node.op_type == "Loop" and _moves_text(node, attribute.g):
                return "ONNX Runtime empties text outside of a pass that a Loop stacks"
    return ""


def _shrinks_double(model: Any) -> bool:
    """Whether a Shrink is given float64, or something whose type inference doesn't tell."""
    from onnx import inliner, shape_inference

    whole = shape_inference.infer_shapes(inliner.inline_local_functions(model))
    return not {_DOUBLE, None}.isdisjoint(_shrunken(whole.graph, {}))


def _shrunken(graph: Any, outside: dict[str, int]) -> Iterator[int | None]:
    """The element types of what the Shrinks of a graph, and of the graphs in it, are given."""
    values = (*graph.input, *graph.value_info, *graph.output)
    known = outside | {value.name: value.type.tensor_type.elem_type for value in values}
    known |= {tensor.name: tensor.data_type for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Shrink":
            yield known.get(node.input[0]) or None
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _shrunken(inner, known)


def _gives_twice(node: Any) -> bool:
    """Whether a region of a node has one value for two results."""
    names = [[value.name for value in attribute.g.output] for attribute in node.attribute]
    return any(len(set(one)) < len(one) for one in names)


def _moves_text(node: Any, body: Any) -> bool:
    """Whether a Loop stacks text that Identities name anew: it is moved out of what later passes read."""
    sources = {inner.output[0]: inner.input[0] for inner in body.node if inner.op_type == "Identity"}
    made = {name for inner in body.node for name in inner.output}
    for value in body.output[max(len(node.input) - 1, 1) :]:
        name = value.name
        while name in sources:
            name = sources[name]
        if value.type.tensor_type.elem_type == _TEXT and name not in made:
            return True
    return False


def _is_before(version: int, imports: Any) -> bool:
    """Whether operators of ONNX's own domain are older."""
    return any(entry.domain in OWN_DOMAIN and entry.version < version for entry in imports)


def _has(part: Any, operator: str) -> bool:
    return any(node.op_type == operator for node in own_nodes(part))


def _trains(part: Any, imports: Any) -> bool:
    """Whether there is a BatchNormalization that the evaluator takes for one in training: versions 7 and 9 have no
    attribute that says so, and it takes the one for momentum, or the missing one of version 6."""
    if not _is_before(14, imports):
        return False
    found = (node for node in own_nodes(part) if node.op_type == "BatchNormalization")
    return any(not any(attribute.name == "is_test" and attribute.i for attribute in node.attribute) for node in found)


def _uses_mask(part: Any, imports: Any) -> bool:
    """Whether something is made of the mask of a Dropout before version 12."""
    if not _is_before(12, imports):
        return False
    masks = {name for node in own_nodes(part) if node.op_type == "Dropout" for name in node.output[1:] if name}
    return bool(masks) and not masks.isdisjoint(_names_read(part))


def _names_read(part: Any) -> Iterator[str]:
    """What the nodes of a graph or function take, and what it and the graphs in it give."""
    yield from (getattr(value, "name", value) for value in part.output)
    for node in part.node:
        yield from node.input
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from _names_read(graph)


def scans_of_version_8(path: Path) -> bool:
    """Whether a model has a Scan of version 8: ONNX Runtime gives uninitialised memory for one over no elements."""
    model = _model(path, (b"Scan",))
    if model is None or all(entry.domain or entry.version != 8 for entry in model.opset_import):
        return False
    return any(node.op_type == "Scan" for node in _nodes(model))


def _model(path: Path, mentioned: tuple[bytes, ...]) -> Any:
    """The model; None, and it isn't parsed, if the file mentions none of the given names."""
    if path.stat().st_size > _MAX_BYTES:
        return None
    data = path.read_bytes()
    if not any(word in data for word in mentioned):
        return None
    import onnx

    return onnx.load_model_from_string(data)


def _nodes(model: Any | None, *domains: str) -> Iterator[Any]:
    """Every node of `domains`, or of ONNX's own, in the model's graphs and functions; None has none."""
    for part, _ in _parts(model):
        yield from own_nodes(part, domains or OWN_DOMAIN)


def _parts(model: Any | None) -> Iterator[tuple[Any, Any]]:
    """The model's graph and its functions, each with the opsets that it imports; None has none."""
    if model is not None:
        yield model.graph, model.opset_import
        yield from ((function, function.opset_import) for function in model.functions)


def own_nodes(part: Any, domains: tuple[str, ...] = OWN_DOMAIN) -> Iterator[Any]:
    """Every node of ONNX's own operators, or of `domains`, in a graph or function and the graphs in its attributes."""
    stack = [part.node]
    while stack:
        for node in stack.pop():
            if node.domain in domains:
                yield node
            for attribute in node.attribute:
                stack.extend(graph.node for graph in (attribute.g, *attribute.graphs))
