"""HLO text to a Module: the grammar above the level of shapes, literals and attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .attributes import KINDS, NAMED, RAW, braced, misplaced
from .dtypes import WORDS
from .lexer import BLANK, DEEPEST, NAME, Scanner, token
from .literals import read_literal
from .shapes import at_shape, read_shape, write_shape
from .tree import ArrayShape, Computation, HloShape, Instruction, Module, Operand, Raw, TupleShape

_HEADER = token(r"HloModule(?![\w.\-])")
_ENTRY = token(r"ENTRY(?![\w.\-])")
_RESULT = token(rf"(?:(ROOT)(?![\w.\-]){BLANK})?(%?)({NAME})({BLANK})=")
_OPCODE = token(rf"({NAME}){BLANK}\(")
_PLAIN = token(rf"((?:%?{NAME}(?>(?:\s*+,\s*+%?{NAME})*))?)\s*+\)")
_TYPED = token(rf"([a-z]\w*\[[^\[\]]*+\](?:\{{[^{{}}]*+\}})?)\s++%?({NAME})(?=\s*+[,)])")
_USE = token(rf"%?({NAME})((?>(?:#\d{{1,9}})*))")
_ATTRIBUTE = token(rf",{BLANK}({NAME})=")
_THREAD = token(rf",{BLANK}(execution_thread)=")
_TABLE = token(r"(FileNames|FunctionNames|FileLocations|StackFrames)(?![\w.\-])")
_ROW = token(r"\d+(?![\w.])")
_LAYOUTS = "entry_computation_layout"
_LONGEST = 300  # characters of a message


def parse(text: str) -> Module:
    """Read HLO text: what `jax.jit(f).lower(x).as_text("hlo")` prints, and dumps of XLA.

    Shapes that XLA would infer may be missing (None). Instructions that stand in operands, and computations that stand
    where they are applied, come before what they stand in, under names of their own. Where no computation is the
    ENTRY the last is, as in XLA.

    Raises:
        InvalidModel: the text is malformed, at the line and the column that the message names.
    """
    return _Parser(text).module()


class _Parser:
    def __init__(self, text: str) -> None:
        self.scanner = Scanner(text)
        self.computations: list[Computation] = []
        self.shapes: dict[str, HloShape] = {}
        self.operands: dict[str, Operand] = {}
        self.depth = 0  # of computations in instructions
        self.prefix = ""  # of names for what has none; it stands nowhere in the text
        self.made = 0

    def module(self) -> Module:
        scanner = self.scanner
        module = Module("", self.computations)
        if scanner.match(_HEADER):
            module.name = scanner.name("the module's name")
            while match := scanner.match(_ATTRIBUTE):
                self._once(module.attributes, match)
                module.attributes[match[1]] = self._layouts() if match[1] == _LAYOUTS else Raw(scanner.raw())
            self._tables(module)
        names: set[str] = set()
        while scanner.skip() < len(scanner.text):
            start = scanner.at
            entry = bool(scanner.match(_ENTRY))
            name = self._computation()
            if name in names:
                scanner.fail(f"a second computation is called {name}", start)
            if entry and module.entry:
                scanner.fail(f"{module.entry} is the ENTRY already", start)
            if entry:
                module.entry = name
            names.add(name)
        if not self.computations:
            scanner.expected("a computation")
        module.entry = module.entry or self.computations[-1].name
        return module

    def _layouts(self) -> Raw:
        """`{(shape, shape)->shape}`, which says nothing but layouts: the entry's shapes stand in the entry."""
        scanner = self.scanner
        start = scanner.skip()
        scanner.expect("{")
        if not scanner.ahead("("):
            scanner.expected("'('")
        read_shape(scanner, self.shapes)
        scanner.expect("->")
        read_shape(scanner, self.shapes)
        scanner.expect("}")
        return Raw(scanner.text[start : scanner.at])

    def _tables(self, module: Module) -> None:
        scanner = self.scanner
        while match := scanner.match(_TABLE):
            start = scanner.at
            self._once(module.attributes, match)
            while scanner.match(_ROW):
                scanner.raw()
            module.attributes[match[1]] = Raw(scanner.text[start : scanner.at].strip())

    def _computation(self) -> str:
        """Add the computation that stands here; its name."""
        scanner = self.scanner
        start = scanner.skip()
        name = scanner.name("a computation")
        result = None
        if scanner.accept("("):
            self._parameters()
            scanner.expect("->")
            result = read_shape(scanner, self.shapes)
        computation = self._body(name, start)
        shape = computation.instructions[computation.root].shape
        if result and shape and not _same_shape(result, shape):
            reason = f"{name} is declared to return {write_shape(result)}, its root returns {write_shape(shape)}"
            scanner.fail(reason[:_LONGEST], start)
        while match := scanner.match(_THREAD):
            self._once(computation.attributes, match)
            computation.attributes[match[1]] = Raw(scanner.raw())
        return name

    def _parameters(self) -> None:
        """`a: f32[], b: s32[2])`: the instructions say it again."""
        scanner = self.scanner
        following = False
        while not scanner.accept(")"):
            if following:
                scanner.expect(",")
            scanner.name()
            scanner.expect(":")
            read_shape(scanner, self.shapes)
            following = True

    def _body(self, name: str, start: int) -> Computation:
        """`{ instructions }`, added as a computation."""
        scanner = self.scanner
        line, column = scanner.position(start)
        computation = Computation(name, line=line, column=column)
        scanner.expect("{")
        names: set[str] = set()
        while not scanner.accept("}"):
            at = scanner.at
            if self._instruction(computation.instructions, names):
                if computation.root >= 0:
                    scanner.fail(f"{name} has a second ROOT", at)
                computation.root = len(computation.instructions) - 1
        if not computation.instructions:
            scanner.fail(f"{name} has no instructions", start)
        if computation.root < 0:
            computation.root = len(computation.instructions) - 1
        self.computations.append(computation)
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
            scanner.fail(f"{name} is reserved" if blank else "a blank is needed between a name and '='", start)
        if name in names:
            scanner.fail(f"a second instruction of this computation is called {name}", start)
        names.add(name)
        line, column = scanner.position(start)
        shape = read_shape(scanner, self.shapes) if at_shape(scanner) else None
        instruction = self._operation(instructions, name, shape, 0)
        instruction.line, instruction.column = line, column
        while match := scanner.match(_ATTRIBUTE):
            self._once(instruction.attributes, match)
            instruction.attributes[match[1]] = self._value(match[1])
        problem = misplaced(instruction.opcode, instruction.attributes, KINDS)
        if problem:
            if scanner.ahead(","):
                scanner.expected("an attribute, name=value, without a blank before the '=',")
            scanner.fail(problem, start)
        instructions.append(instruction)
        return bool(root)

    def _value(self, name: str) -> Any:
        """An attribute's value. A computation may stand where it is named; it gets a name."""
        scanner = self.scanner
        kind = KINDS.get(name, RAW)
        if kind is NAMED:
            return self._called()
        if name == "branch_computations":
            return braced(lambda _: self._called())(scanner)
        return kind.read(scanner)

    def _called(self) -> str:
        scanner = self.scanner
        if not scanner.ahead("{"):
            return scanner.name("a computation")
        if self.depth == DEEPEST:
            scanner.fail(f"computations nested deeper than {DEEPEST}")
        self.depth += 1
        computation = self._body(self._fresh(), scanner.at)
        self.depth -= 1
        return computation.name

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
        """Operands and the parenthesis after them; the last may have a comma, too."""
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
            match = _TYPED.match(scanner.text, scanner.at)
            if match and match[1] in self.shapes:
                scanner.at = match.end()
                operands.append(Operand(match[2]))
            else:
                operands.append(self._operand(instructions, depth))
            if not scanner.accept(","):
                scanner.expect(")")
                break
        return operands

    def _operand(self, instructions: list[Instruction], depth: int) -> Operand:
        """`shape? name#0`, or an instruction."""
        scanner = self.scanner
        start = scanner.skip()
        shape = read_shape(scanner, self.shapes) if at_shape(scanner) else None
        if _OPCODE.match(scanner.text, scanner.at):
            if depth == DEEPEST:
                scanner.fail(f"instructions nested deeper than {DEEPEST}", start)
            line, column = scanner.position(start)
            inner = self._operation(instructions, self._fresh(), shape, depth + 1)
            inner.line, inner.column = line, column
            problem = misplaced(inner.opcode, inner.attributes, KINDS)
            if problem:
                scanner.fail(problem, start)
            instructions.append(inner)
            return Operand(inner.name)
        match = scanner.match(_USE)
        if not match:
            scanner.expected("an operand")
        return Operand(match[1], tuple(map(int, match[2].split("#")[1:])))

    def _fresh(self) -> str:
        if not self.prefix:
            self.prefix = "inner"
            while f"{self.prefix}." in self.scanner.text:
                self.prefix += "_"
        self.made += 1
        return f"{self.prefix}.{self.made}"

    def _once(self, attributes: Mapping[str, Any], match: re.Match[str]) -> None:
        if match[1] in attributes:
            self.scanner.fail(f"{match[1]} appears twice", match.start(1))


def _same_shape(one: HloShape, other: HloShape) -> bool:
    """Whether shapes are the same, layouts aside."""
    if isinstance(one, ArrayShape) and isinstance(other, ArrayShape):
        return (one.dtype, one.dims) == (other.dtype, other.dims)
    if isinstance(one, TupleShape) and isinstance(other, TupleShape):
        return len(one.elements) == len(other.elements) and all(map(_same_shape, one.elements, other.elements))
    return type(one) is type(other)
