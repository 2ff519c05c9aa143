"""Values and the operators that produce and use them; `graph.py` has both together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import InvalidModel
from .tensor import TensorData
from .types import TensorType, Type

if TYPE_CHECKING:
    from .graph import Graph

ORIGIN = "origin"
"""Key in the `meta` of a node: the name of the value in the file that was read of which the node was made, a text."""

_MOST_SHOWN = 200  # characters of a name in a message


class Value:
    """One value: an input, a constant (`data`), or an output of `producer`.

    `name` is "" for an optional output that nobody wants. `meta` holds what a format knows and the
    hub doesn't (doc strings, tensor names, rt_info), keyed by format.
    """

    __slots__ = ("data", "index", "meta", "name", "producer", "type")

    def __init__(
        self,
        name: str,
        type: Type | None = None,
        producer: Node | None = None,
        index: int = 0,
        data: TensorData | None = None,
    ) -> None:
        self.name = name
        self.type = type
        self.producer = producer
        self.index = index
        self.data = data
        self.meta: dict[str, Any] | None = None

    @property
    def tensor(self) -> TensorType:
        """The type as a tensor type; an unknown one where it is none (or not known)."""
        return self.type if isinstance(self.type, TensorType) else TensorType()

    @property
    def rank(self) -> int | None:
        return self.tensor.rank

    def array(self) -> np.ndarray[Any, Any] | None:
        """The constant's array, or None where the value isn't constant."""
        return None if self.data is None else self.data.numpy()

    def holding(self, array: Any) -> TensorData:
        """What is known to be the value's elements, as data of its element type.

        Raises:
            InvalidModel: that type, which a file may declare, doesn't have them.
        """
        try:
            return TensorData.of(array, self.tensor.dtype)
        except ValueError as error:
            raise InvalidModel(f"{shortened(self.name)!r} is declared {self.type}: {error}") from None

    def __repr__(self) -> str:
        return f"<{shortened(self.name)}: {self.type}>"


class Node:
    """One operator.

    Attributes:
        domain, op_type: the operator ("" is ONNX's default domain; `backedge` the hub's own).
        version: since_version of the operator (ONNX), opset number (OpenVINO).
        attributes: name -> Python value (int, float, str, bytes, list, TensorData, a format's own object).
        inputs: values, None where an optional input is left out. The last `captured` of them are values
            that the regions use from outside; each region ends its inputs with one parameter for each.
        outputs: values this node produces.
        regions: name -> Graph.
    """

    __slots__ = (
        "attributes",
        "captured",
        "domain",
        "inputs",
        "meta",
        "name",
        "op_type",
        "outputs",
        "regions",
        "version",
    )

    def __init__(self, domain: str, op_type: str, version: int, name: str = "") -> None:
        self.domain = domain
        self.op_type = op_type
        self.version = version
        self.name = name
        self.attributes: dict[str, Any] = {}
        self.inputs: list[Value | None] = []
        self.outputs: list[Value] = []
        self.regions: dict[str, Graph] = {}
        self.captured = 0
        self.meta: dict[str, Any] | None = None

    @property
    def op(self) -> tuple[str, str]:
        return self.domain, self.op_type

    @property
    def output(self) -> Value:
        return self.outputs[0]

    @property
    def formal_inputs(self) -> list[Value | None]:
        """The inputs without the captured values."""
        return self.inputs[: len(self.inputs) - self.captured]

    @property
    def captures(self) -> list[Value | None]:
        """The captured values."""
        return self.inputs[len(self.inputs) - self.captured :]

    def input(self, index: int) -> Value | None:
        """Formal input `index`, None where it is left out (at the end as well)."""
        return self.inputs[index] if index < len(self.inputs) - self.captured else None

    @property
    def origin(self) -> str:
        """The name of the value in the file that was read that the node was made of, or is; "" where it has none."""
        kept = (self.meta or {}).get(ORIGIN)
        return kept or next((value.name for value in self.outputs if value.name), "")

    @property
    def written_origin(self) -> str:
        """The same where a file has to say it, as the node's results don't have the name; else ""."""
        kept = (self.meta or {}).get(ORIGIN, "")
        return "" if any(value.name == kept for value in self.outputs) else kept

    def __repr__(self) -> str:
        domain = f"{self.domain}." if self.domain else ""
        name = self.name or (self.outputs[0].name if self.outputs else "")
        return f"{shortened(domain + self.op_type)}-{self.version} {shortened(name)!r}"


def shortened(name: str) -> str:
    """A name for messages, which a file may have made as long as it likes."""
    return name if len(name) <= _MOST_SHOWN else f"{name[: _MOST_SHOWN - 3]}..."


def ancestors(values: Iterable[Value | None]) -> dict[Value, None]:
    """These values and all that they are computed from in their graph.

    A walk along the producers: `networkx.ancestors` would need the edges of the whole graph first.
    """
    found: dict[Value, None] = {}
    stack = list(values)
    while stack:
        value = stack.pop()
        if value is not None and value not in found:
            found[value] = None
            stack += value.producer.inputs if value.producer is not None else ()
    return found


def through_identities(value: Value) -> Value:
    """A value of the same graph that another one is the same as."""
    while value.producer is not None and value.producer.op == ("", "Identity") and value.producer.inputs[0] is not None:
        value = value.producer.inputs[0]
    return value
