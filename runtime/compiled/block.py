"""Blocks of statements of the function that is written."""

from __future__ import annotations

from collections.abc import Iterator


class Block:
    """Statements at one depth of indentation."""

    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: list[str | Block | tuple[str, Block]] = []

    def line(self, text: str) -> None:
        self.items.append(text)

    def sub(self, header: str = "") -> Block:
        """A block at this place, indented under `header` if there is one."""
        block = Block()
        self.items.append((header, block) if header else block)
        return block

    def lines(self, indent: str = "") -> Iterator[str]:
        for item in self.items:
            if isinstance(item, str):
                yield indent + item
            elif isinstance(item, Block):
                yield from item.lines(indent)
            else:
                yield indent + item[0]
                yield from item[1].lines(indent + "    ")
                if not any(True for _ in item[1].lines()):
                    yield indent + "    pass"
