"""Recurrent models as exporters write them: ONNX text, with the weights drawn beside it.

A `Case` is a model with a loop in it, and the operator that the loop is. `T`, `B`, `I`, `H` in the text stand for
steps, batch, features and units.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnx.parser

STEPS, BATCH, INPUTS, UNITS = 5, 2, 3, 4


@dataclass(frozen=True)
class Case:
    """A model.

    Attributes:
        text: a graph in ONNX's text form, without header.
        weights: the shapes of initializers, or their values.
        kind: the operator that its loop is; None: no operator.
        attributes: some of the operator's.
        opset: of the model.
        reason: part of why it is none.
    """

    name: str
    text: str
    weights: dict[str, str | np.ndarray] = field(default_factory=dict)
    kind: str | None = None
    attributes: dict[str, object] = field(default_factory=dict)
    opset: int = 21
    reason: str = ""


def sizes(steps: int = STEPS, batch: int = BATCH) -> dict[str, int]:
    return {"T": steps, "B": batch, "I": INPUTS, "H": UNITS}


def shape_of(text: str, known: dict[str, int]) -> tuple[int, ...]:
    """ "4H, I" -> (16, 3)."""
    return tuple(
        int(np.prod([known[part] if part in known else int(part) for part in re.findall(r"\d+|[A-Z]", dim)]))
        for dim in text.split(",")
        if dim.strip()
    )


def model(case: Case, seed: int = 0, steps: int = STEPS, batch: int = BATCH, dynamic: str = "") -> onnx.ModelProto:
    """The model of a case; the dimensions named in `dynamic` ("T", "B", "TB") stay open."""
    known = sizes(steps, batch)

    def sized(match: re.Match[str]) -> str:
        dims = [
            dim if dim in f"{dynamic}N" else str(shape_of(dim, known)[0]) if shape_of(dim, known) else ""
            for dim in map(str.strip, match[2].split(","))
        ]
        return f"{match[1]}[{', '.join(dims)}]"

    text = re.sub(r"\b(float|float16|int64|int32|double)\[([^\]]*)\]", sized, case.text)
    text = re.sub(r"<<(\d*)([TBIH])>>", lambda found: str(int(found[1] or 1) * known[found[2]]), text)
    header = f'<ir_version: 8, opset_import: ["" : {case.opset}]>\n'
    made = onnx.parser.parse_model(header + text)
    rng = np.random.default_rng(seed)
    for name, spec in case.weights.items():
        array = spec if isinstance(spec, np.ndarray) else rng.standard_normal(shape_of(spec, known)) * 0.6
        array = array if isinstance(spec, np.ndarray) else array.astype(np.float32)
        made.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return made


def inputs(made: onnx.ModelProto, seed: int = 1, steps: int = STEPS, batch: int = BATCH) -> dict[str, np.ndarray]:
    """Inputs for a model."""
    rng = np.random.default_rng(seed)
    known = sizes(steps, batch)
    found: dict[str, np.ndarray] = {}
    given = {value.name for value in made.graph.initializer}
    for value in made.graph.input:
        if value.name in given:
            continue
        dims = [known[dim.dim_param] if dim.dim_param else dim.dim_value for dim in value.type.tensor_type.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        if value.name.startswith("lengths"):
            found[value.name] = rng.integers(0, steps + 1, dims).astype(dtype)
        elif dtype.kind == "i":
            found[value.name] = np.full(dims, steps, dtype)
        elif dtype.kind == "b":
            found[value.name] = np.ones(dims, dtype)
        else:
            found[value.name] = rng.standard_normal(dims).astype(dtype)
    return found


def scan(step: str, states: str, x: str = "float[T,B,I] xs", results: str = "", options: str = "") -> str:
    """A model of one Scan. `states`: type and name of each state, "float[B,H] h, ..."; the body `step` makes from
    `x` and the states NAME_next for each, and y, which is stacked."""
    names = [part.split()[-1] for part in states.split(";")]
    types = [" ".join(part.split()[:-1]) for part in states.split(";")]
    element = re.sub(r"T,", "", x.split()[0], count=1)
    given = ", ".join(f"{kind} {name}0" for kind, name in zip(types, names, strict=True))
    entering = ", ".join(f"{kind} {name}" for kind, name in zip(types, names, strict=True))
    leaving = ", ".join(f"{kind} {name}_next" for kind, name in zip(types, names, strict=True))
    last = ", ".join(f"{kind} {name}_last" for kind, name in zip(types, names, strict=True))
    every = results or "float[T,B,H] ys"
    one = re.sub(r"T,", "", every.split()[0], count=1)
    return f"""recurrent ({x}, {given}) => ({last}, {every}) {{
      {", ".join(f"{name}_last" for name in names)}, ys = Scan<num_scan_inputs = 1{options}, body = step (
        {entering}, {element} x
      ) => ({leaving}, {one} y) {{
        {step}
      }}>({", ".join(f"{name}0" for name in names)}, {x.split()[1]})
    }}"""
