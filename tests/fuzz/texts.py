"""Mutations of texts of instructions (HLO, StableHLO) by lines and tokens, and of any bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from backedge.convert.hlo.read import from_text
from backedge.passes.errors import BackedgeError

from .sample import INTEGERS, NAMES, Sample

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@#]?[\w.-]+|\s+|[^\w\s]')
_WORD, _NUMBER = re.compile(r"[%@#]?[A-Za-z_][\w.-]*$"), re.compile(r"-?[\d.]+$")
_STATED = re.compile(
    r"(?<== )(?:\w+\[[^\]]*\](?:\{[^}]*\})?|\([^()=]*\)) (?!(?:parameter|constant|iota|while)\()(?=[\w-]+\()"
)
"""Types of results that follow from the operands' in most instructions of HLO."""
_ATTEMPTS = 5
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


def mutated_hlo(sample: Sample, random: Random, others: list[Sample]) -> Sample:
    """As `mutated`, in most cases until it can be read: most changes are refused before they mean anything."""
    changed = mutated(sample, random, others)
    for _ in range(_ATTEMPTS if random.random() < 0.6 else 0):
        try:
            from_text(changed.data.decode())
        except (BackedgeError, UnicodeDecodeError):
            changed = mutated(sample, random, others)
        except Exception:
            break
        else:
            break
    return changed


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
        is_own = random.random() < 0.7
        source = tokens if is_own else _TOKEN.findall(random.choice(others).data.decode(errors="replace"))
        if random.random() < 0.7:
            tokens[at] = _of_like_use(source, _use(tokens, at), random) or token
        else:
            alike = [one for one in source if _WORD.match(one)] or [token]
            tokens[at] = random.choice((random.choice(alike), random.choice(_TYPES), random.choice(NAMES)))
    else:
        tokens[at] = tokens[random.choice(seen)]
    return "".join(tokens)


def _use(tokens: list[str], at: int) -> tuple[str, str]:
    """What a word is by what stands beside it: an opcode before "(", a type before "[", a name before "=" or ","."""
    after = next((one for one in tokens[at + 1 : at + 3] if not one.isspace()), "")
    before = next((one for one in reversed(tokens[max(at - 2, 0) : at]) if not one.isspace()), "")
    return tokens[at][:1] if tokens[at][0] in "%@#" else "=" if before == "=" else "", after[:1]


def _of_like_use(tokens: list[str], use: tuple[str, str], random: Random) -> str:
    """A word that is used like that, among some that are looked at."""
    tried = (random.randrange(len(tokens)) for _ in range(300 if tokens else 0))
    return next((tokens[at] for at in tried if _WORD.match(tokens[at]) and _use(tokens, at) == use), "")


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
