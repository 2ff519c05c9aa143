"""Mutations of texts of instructions (HLO, StableHLO) by lines and tokens, and of any bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from .sample import INTEGERS, NAMES, Sample

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@#]?[\w.-]+|\s+|[^\w\s]')
_WORD, _NUMBER = re.compile(r"[%@#]?[A-Za-z_][\w.-]*$"), re.compile(r"-?[\d.]+$")
_STATED = re.compile(
    r"(?<== )(?:\w+\[[^\]]*\](?:\{[^}]*\})?|\([^()=]*\)) (?!(?:parameter|constant|iota|while)\()(?=[\w-]+\()"
)
"""Types of results that follow from the operands' in most instructions of HLO."""
_TYPES = ("f32", "f64", "f16", "bf16", "s32", "s64", "u8", "pred", "c64", "token", "s4", "f8e4m3fn", "i32", "i64", "i1")


def mutated(sample: Sample, random: Random, others: list[Sample]) -> Sample:
    """One to four changes of lines or tokens; seldom of single bytes."""
    if random.random() < 0.05:
        return sample.but(scrambled(sample.data, random))
    text = sample.data.decode(errors="replace")
    if sample.suffix == ".hlo" and random.random() < 0.6:
        text = _STATED.sub("", text)
    for _ in range(random.choice((1, 1, 1, 1, 2, 3))):
        text = _line(text, random, others) if random.random() < 0.15 else _token(text, random, others)
    return sample.but(text.encode(errors="replace"))


def _line(text: str, random: Random, others: list[Sample]) -> str:
    lines = text.split("\n")
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(5):
        case 0:
            del lines[one]
        case 1:
            lines.insert(one, lines[other])
        case 2:
            lines[one], lines[other] = lines[other], lines[one]
        case 3:
            lines[one] = lines[other]
        case _:
            lines.insert(one, random.choice(random.choice(others).data.decode(errors="replace").split("\n")))
    return "\n".join(lines)


def _token(text: str, random: Random, others: list[Sample]) -> str:
    tokens = _TOKEN.findall(text)
    seen = [at for at, token in enumerate(tokens) if not token.isspace()]
    if random.random() < 0.7:  # what has a meaning, rather than how it is written
        seen = [at for at in seen if _NUMBER.match(tokens[at]) or _WORD.match(tokens[at])]
    if not seen:
        return text
    at = random.choice(seen)
    token = tokens[at]
    chance = random.random()
    if chance < 0.12:
        del tokens[at]
    elif chance < 0.2:
        tokens.insert(at, token)
    elif _NUMBER.match(token):
        alike = [one for one in tokens if _NUMBER.match(one)]
        tokens[at] = random.choice(
            (random.choice(alike), str(random.choice(INTEGERS)), str(random.randrange(9)), "nan")
        )
    elif _WORD.match(token):
        source = (
            tokens if random.random() < 0.7 else _TOKEN.findall(random.choice(others).data.decode(errors="replace"))
        )
        alike = [one for one in source if _WORD.match(one)] or [token]
        tokens[at] = random.choice(
            (random.choice(alike), random.choice(alike), random.choice(_TYPES), random.choice(NAMES))
        )
    else:
        tokens[at] = tokens[random.choice(seen)]
    return "".join(tokens)


def scrambled(data: bytes, random: Random) -> bytes:
    """Bytes changed, left out, put in, moved."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 6))):
        at = random.randrange(len(changed) + 1)
        match random.randrange(5):
            case 0:
                changed[at : at + 1] = bytes([random.randrange(256)])
            case 1:
                del changed[at : at + random.choice((1, 3, 30))]
            case 2:
                changed[at:at] = random.choice(
                    (b"\0", b"\xff", b'"', b"{", b"]", b"<", b"9999999999", b"\xed\xa0\x80", b"-")
                )
            case 3:
                start = random.randrange(len(changed) + 1)
                changed[at:at] = changed[start : start + random.choice((1, 5, 50))]
            case _:
                if random.random() < 0.2:
                    del changed[at:]
    return bytes(changed)


def reductions(sample: Sample) -> Iterator[Sample]:
    """The text with some lines less, then with a token less."""
    lines = sample.data.split(b"\n")
    size = len(lines) // 2
    while size:
        for start in range(0, len(lines), size):
            yield sample.but(b"\n".join(lines[:start] + lines[start + size :]))
        size //= 2
    tokens = _TOKEN.findall(sample.data.decode(errors="replace"))
    for at in range(len(tokens) if len(tokens) < 400 else 0):
        yield sample.but("".join(tokens[:at] + tokens[at + 1 :]).encode())
