"""HLO text to a Module: the grammar above the level of shapes, literals and attributes."""

from __future__ import annotations

import re

from .attributes import KINDS, RAW
from .dtypes import WORDS
from .lexer import BLANK, DEEPEST, NAME, Scanner, token
from .literals import read_literal
from .shapes import at_shape, read_shape
from .tree import Computation, HloShape, Instruction, Module, Operand, Raw

_HEADER = token(r"HloModule(?![\w.\-])")
_ENTRY = token(r"ENTRY(?![\w.\-])")
_RESULT = token(rf"(?:(ROOT)(?![\w.\-]){BLANK})?(%?)({NAME})({BLANK})=")
_OPCODE = token(rf"({NAME}){BLANK}\(")
_PLAIN = token(rf"((?:%?{NAME}(?:\s*+,\s*+%?{NAME})*+)?)\s*+\)")
_USE = token(rf"%?({NAME})((?:#\d{{1,9}})*+)")
_ATTRIBUTE = token(rf",{BLANK}({NAME})=")
_HEAD_ATTRIBUTE = _ATTRIBUTE
_THREAD = token(rf",{BLANK}(execution_thread)=")
_TABLE = token(r"(FileNames|FunctionNames|FileLocations|StackFrames)(?![\w.\-])")
_ROW = token(r"\d+(?![\w.])")


def parse(text: str) -> Module:
    """Read HLO text: what `jax.jit(f).lower(x).as_text("hlo")` prints, and dumps of XLA.

    Shapes that XLA would infer may be missing (None). Instructions that stand in operands come before the one that uses
    them, under names of their own.

    Raises:
        InvalidModel: the text is malformed, at the line and the column that the message names.
    """
    return _Parser(text).module()


class _Parser:
    def __init__(self, text: str) -> None:
        self.scanner = Scanner(text)
        self.shapes: dict[str, HloShape] = {}
        self.operands: dict[str, Operand] = {}
        self.fresh = ""  # a prefix that stands nowhere in the text, once one is needed
        self.made = 0

    def module(self) -> Module:
        scanner = self.scanner
        module = Module("")
        if scanner.match(_HEADER):
            module.name = scanner.name("the module's name")
            while match := scanner.match(_HEAD_ATTRIBUTE):
                self._once(module.attributes, match)
                module.attributes[match[1]] = Raw(scanner.raw())
            self._tables(module)
        names: set[str] = set()
        entries: list[str] = []
        while scanner.skip() < len(scanner.text):
            start = scanner.at
            entry = bool(scanner.match(_ENTRY))
            computation = self._computation()
            if computation.name in names:
                scanner.fail(f"a second computation is called {computation.name}", start)
            if entry and entries:
                scanner.fail(f"{entries[0]} is the ENTRY already", start)
            if entry:
                entries.append(computation.name)
            names.add(computation.name)
            module.computations.append(computation)
        if not module.computations:
            scanner.expected("a computation")
        if not entries and len(module.computations) > 1:
            scanner.fail("no computation is the ENTRY")
        module.entry = entries[0] if entries else module.computations[0].name
        return module

    def _tables(self, module: Module) -> None:
        scanner = self.scanner
        while match := scanner.match(_TABLE):
            start = scanner.at
            self._once(module.attributes, match)
            while scanner.match(_ROW):
                scanner.raw()
            module.attributes[match[1]] = Raw(scanner.text[start : scanner.at].strip())

    def _computation(self) -> Computation:
        scanner = self.scanner
        scanner.skip()
        line, column = scanner.position(scanner.at)
        computation = Computation(scanner.name("a computation"), line=line, column=column)
        if scanner.accept("("):
            first = True
            while not scanner.accept(")"):
                if not first:
                    scanner.expect(",")
                first = False
                scanner.name()
                scanner.expect(":")
                read_shape(scanner, self.shapes)
            scanner.expect("->")
            read_shape(scanner, self.shapes)
        scanner.expect("{")
        start = scanner.at
        names: set[str] = set()
        while not scanner.accept("}"):
            root = self._instruction(computation.instructions, names)
            if root and computation.root >= 0:
                scanner.fail(f"{computation.name} has a second ROOT", start)
            if root:
                computation.root = len(computation.instructions) - 1
        if not computation.instructions:
            scanner.fail(f"{computation.name} has no instructions", start)
        if computation.root < 0:
            computation.root = len(computation.instructions) - 1
        while match := scanner.match(_THREAD):
            self._once(computation.attributes, match)
            computation.attributes[match[1]] = Raw(scanner.raw())
        return computation

    def _instruction(self, instructions: list[Instruction], names: set[str]) -> bool:
        """Add the instruction that stands here, after those in its operands; whether it is marked as the root."""
        scanner = self.scanner
        match = scanner.match(_RESULT)
        if not match:
            scanner.expected("an instruction, name = ..., or '}'")
        root, percent, name, blank = match.groups()
        start = match.start(2)
        if not percent and (not blank or name in WORDS):
            scanner.fail(f"{name} is reserved" if blank else "a blank must stand between a name and '='", start)
        if name in names:
            scanner.fail(f"a second instruction of this computation is called {name}", start)
        names.add(name)
        line, column = scanner.position(start)
        shape = read_shape(scanner, self.shapes) if at_shape(scanner) else None
        instruction = self._operation(instructions, name, shape, 0)
        instruction.line, instruction.column = line, column
        while match := scanner.match(_ATTRIBUTE):
            self._once(instruction.attributes, match)
            instruction.attributes[match[1]] = KINDS.get(match[1], RAW).read(scanner)
        instructions.append(instruction)
        return bool(root)

    def _operation(self, instructions: list[Instruction], name: str, shape: HloShape | None, depth: int) -> Instruction:
        """`opcode(operands)`."""
        scanner = self.scanner
        match = scanner.match(_OPCODE)
        if not match:
            scanner.expected("an opcode")
        instruction = Instruction(name, shape, match[1])
        if match[1] == "parameter":
            instruction.number = scanner.integer("the parameter's number")
            if instruction.number < 0:
                scanner.fail("a parameter's number is negative", match.start(1))
            scanner.expect(")")
        elif match[1] == "constant":
            if shape is None:
                scanner.fail("a constant needs a shape", match.start(1))
            instruction.literal = read_literal(scanner, shape)
            scanner.expect(")")
        else:
            instruction.operands = self._operands(instructions, depth)
        return instruction

    def _operands(self, instructions: list[Instruction], depth: int) -> list[Operand]:
        scanner, known = self.scanner, self.operands
        operands: list[Operand] = []
        match = scanner.match(_PLAIN)
        if match:
            for text in match[1].split(",") if match[1] else ():
                operand = known.get(text)
                if operand is None:
                    operand = known[text] = Operand(text.strip().removeprefix("%"))
                operands.append(operand)
            return operands
        while not scanner.accept(")"):
            if operands:
                scanner.expect(",")
            operands.append(self._operand(instructions, depth))
        return operands

    def _operand(self, instructions: list[Instruction], depth: int) -> Operand:
        """`shape? name#0`, or an instruction."""
        scanner = self.scanner
        start = scanner.skip()
        shape = read_shape(scanner, self.shapes) if at_shape(scanner) else None
        if _OPCODE.match(scanner.text, scanner.at):
            if depth == DEEPEST:
                scanner.fail(f"instructions nested deeper than {DEEPEST}", start)
            inner = self._operation(instructions, self._fresh(), shape, depth + 1)
            inner.line, inner.column = scanner.position(start)
            instructions.append(inner)
            return Operand(inner.name)
        match = scanner.match(_USE)
        if not match:
            scanner.expected("an operand")
        return Operand(match[1], tuple(map(int, match[2].split("#")[1:])))

    def _fresh(self) -> str:
        if not self.fresh:
            self.fresh = "operand"
            while f"{self.fresh}." in self.scanner.text:
                self.fresh += "_"
        self.made += 1
        return f"{self.fresh}.{self.made}"

    def _once(self, attributes: dict[str, Raw], match: re.Match[str]) -> None:
        if match[1] in attributes:
            self.scanner.fail(f"{match[1]} stands twice", match.start(1))
