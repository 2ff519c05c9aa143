"""XML in: a stream of elements, each handed over as soon as it ends, so that no file stands in memory as a tree.

XML out: attribute values escaped as OpenVINO's serializer does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from ...passes import limits
from ...passes.errors import InvalidModel
from .dialect import Tree
from .types import shown

DEEPEST = 3 * limits.DEEPEST + 100
"""How deep elements may nest: each body in another takes three."""

_LONGEST_TEXT = 100
_BLOCK = 1 << 16
_OPAQUE = frozenset(["rt_info", "meta_data", "quantization_parameters"])  # may hold anything, under any tag


class Element:
    """One XML element; `children` hold what the finishers made of those that have one."""

    __slots__ = ("attributes", "children", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Any] = []
        self.text = ""

    def of(self, tag: str) -> list[Element]:
        """The child elements with this tag."""
        return [child for child in self.children if isinstance(child, Element) and child.tag == tag]

    def get(self, tag: str) -> Element | None:
        """The first child element with this tag."""
        found = self.of(tag)
        return found[0] if found else None

    def attribute(self, name: str) -> str:
        """An attribute that must be there."""
        try:
            return self.attributes[name]
        except KeyError:
            raise InvalidModel(f"<{self.tag}> has no {name}") from None

    def tree(self) -> Tree:
        """The element and all inside it, as it is carried through."""
        return (self.tag, self.attributes, tuple(child.tree() for child in self.children))


Finish = Callable[[Element], Any]


class _Target:
    """What the parser calls: keeps the open elements, and finishes each that ends."""

    def __init__(self, finishers: dict[str, Finish]) -> None:
        self._finishers = finishers
        self.open = [Element("", {})]
        self._opaque = 0  # how many open elements are inside of a carried-through one

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.open) > DEEPEST:
            raise InvalidModel(f"elements nest more than {DEEPEST} deep")
        if self._opaque or tag in _OPAQUE:
            self._opaque += 1
        self.open.append(Element(tag, attributes))

    def end(self, tag: str) -> None:
        element = self.open.pop()
        if self._opaque:
            self._opaque -= 1
        elif tag in self._finishers:
            try:
                element = self._finishers[tag](element)
            except InvalidModel as error:
                raise InvalidModel(f"{self._path(element)}{error}") from None
        self.open[-1].children.append(element)

    def data(self, text: str) -> None:
        top = self.open[-1]
        if top.tag == "dim":
            if len(top.text) + len(text) > _LONGEST_TEXT:
                raise InvalidModel(f"the text of a <{top.tag}> is longer than {_LONGEST_TEXT} characters")
            top.text += text

    def close(self) -> list[Any]:
        return self.open[0].children

    def _path(self, last: Element) -> str:
        """Where in the file: the layers that are open, outermost first."""
        layers = [element.attributes for element in (*self.open, last) if element.tag == "layer"]
        return "".join(
            f"layer {shown(layer.get('id', '?'))} {shown(layer.get('name', ''))} ({shown(layer.get('type', '?'))}): "
            for layer in layers
        )


def parse(path: Path, finishers: dict[str, Finish]) -> Any:
    """What `finishers` make of the root element. A finisher gets each ended element with its tag and returns what
    shall stand in its place among its parent's children; inside of <rt_info> and the like none is called.

    Raises:
        InvalidModel: not well-formed XML, or a document type, an entity, or too deep a nesting in it.
    """
    parser = DefusedXMLParser(target=_Target(finishers), forbid_dtd=True)
    try:
        with open(path, "rb") as file:
            while block := file.read(_BLOCK):
                parser.feed(block)
        (root,) = parser.close()
        return root
    except OSError as error:
        raise InvalidModel(f"can't be read: {error.strerror or error}") from None
    except DefusedXmlException:
        raise InvalidModel("the XML declares a document type or entities, which IR never has") from None
    except (SyntaxError, ExpatError, LookupError, ValueError) as error:
        raise InvalidModel(f"isn't well-formed XML: {error}") from None


_ESCAPES = {"&": "&amp;", "<": "&lt;", '"': "&quot;"} | {chr(code): f"&#{code:02};" for code in (9, 10, 13)}
_TABLE = str.maketrans(_ESCAPES)


UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML can't hold, not even as references."""


def spelled(text: str) -> str:
    """`text` with `\\u0000` and the like for what XML can't hold."""
    return UNWRITABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def escaped(text: str) -> str:
    """`text` as the value of an attribute between double quotes.

    Raises:
        ValueError: XML has no way to write one of its characters.
    """
    if text.isprintable() and "&" not in text and "<" not in text and '"' not in text:
        return text
    found = UNWRITABLE.search(text)
    if found is not None:
        raise ValueError(f"XML can't contain the character {ord(found[0]):#x}")
    return text.translate(_TABLE)
