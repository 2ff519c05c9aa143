"""What an HLO module's inputs and outputs are called. The reader and the writer of HLO and XLA's session all ask here.

HLO has neither names for results nor names for parameters that last: a parameter's name is an instruction's, and XLA
numbers those anew (`x`, `x.1`, `x.7`) as it likes. So names are made from what stays the same, and where a module came
from a model whose names matter, they stand in the module's `frontend_attributes`, which XLA carries along (through
StableHLO, too) and prints back:

    HloModule m, frontend_attributes={backedge_inputs="[\\"image\\"]",backedge_outputs="[\\"scores\\"]"}

Each is a JSON list in ASCII, inside a string of HLO. Values are counted in leaves: a tuple is what it holds, in order,
however deep, and tokens, which hold nothing, aren't counted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence

INPUTS = "backedge_inputs"
OUTPUTS = "backedge_outputs"

_NUMBER = re.compile(r"(\.\d+)+$")
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_SIMPLE = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def input_names(parameters: Sequence[tuple[str, int]], attributes: str = "") -> list[str]:
    """The names of the entry computation's parameters, leaf by leaf.

    Args:
        parameters: for each parameter, in order of its number, the instruction's name (no `%`) and its leaves; 1 for
            an array.
        attributes: the text of the module's frontend_attributes, or its whole header.

    Returns:
        What the attributes say, if that fits; else the parameters' names without the numbers after them. Leaves of a
        tuple, and parameters that only the number told apart, get their place after it: `x.0`, `x.1`.
    """
    bases = [_NUMBER.sub("", name) or name for name, leaves in parameters for _ in range(leaves)]
    stated = stated_names(attributes, INPUTS, len(bases))
    if stated is not None:
        return stated
    return _numbered(bases)


def interface_names(
    arguments: Sequence[str], results: Sequence[str], stated: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """The names of a StableHLO function's inputs and outputs.

    Args:
        arguments: what the locations call the arguments (`params['dense'].kernel`, as JAX's trees have them), "" where
            they don't.
        results: `jax.result_info` of each result (`result['loss']`), "" where there is none.
        stated: the module's frontend_attributes.

    Returns:
        What the attributes say, if that fits; else the paths in JAX's trees with dots (`params.dense.kernel`), `output`
        or `output_0`, `output_1` where results have numbers only. What would be called like another gets its place.
    """
    bases = [path_name(name) or f"Arg_{place}" for place, name in enumerate(arguments)]
    inputs = _listed(stated.get(INPUTS), len(bases)) or _numbered(bases)
    paths = [path_name(name.removeprefix("result")) for name in results]
    plain = output_names(len(results))
    bases = [numbered if not path or path.isdigit() else path for path, numbered in zip(paths, plain, strict=True)]
    bases = [f"{name}_out" if name in inputs else name for name in bases]
    return inputs, _listed(stated.get(OUTPUTS), len(bases)) or _numbered(bases)


_STEP = re.compile(r"\['([^']*)'\]|\[\\?\"([^\"]*)\"\]|\[([^\]]*)\]|\.?([^.\[\]]+)")


def path_name(name: str) -> str:
    """A path in a tree of JAX with dots: `params['dense'].kernel[0]` is `params.dense.kernel.0`."""
    return ".".join(next((part for part in step if part), "") for step in _STEP.findall(name))


def last_step(location: str) -> str:
    """The operation of JAX in what a location or op_name says: `jit(f)/while/body/io_callback:` is `io_callback`."""
    return location.rpartition("/")[2].rstrip(":")


def _numbered(bases: Sequence[str]) -> list[str]:
    shared = {base for base, count in Counter(bases).items() if count > 1}
    seen: Counter[str] = Counter()
    names: list[str] = []
    for base in bases:
        names.append(f"{base}.{seen[base]}" if base in shared else base)
        seen[base] += 1
    return names


def _listed(text: str | None, count: int) -> list[str] | None:
    """The names that an entry of frontend_attributes lists; None if there aren't `count` different ones."""
    try:
        names = None if text is None else json.loads(text)
    except ValueError:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        return None
    return names if len(names) == len(set(names)) == count else None


def output_names(leaves: int, attributes: str = "") -> list[str]:
    """The names of the root's leaves: what the attributes say, else "output", or "output_0", "output_1", ..."""
    stated = stated_names(attributes, OUTPUTS, leaves)
    if stated is not None:
        return stated
    return ["output"] if leaves == 1 else [f"output_{place}" for place in range(leaves)]


def stated_names(attributes: str, key: str, count: int) -> list[str] | None:
    """The names under a key of frontend_attributes; None if there aren't `count` different ones (XLA may have dropped
    a parameter since they were written)."""
    found = re.search(rf'\b{key}\s*=\s*"((?:[^"\\]|\\.)*)"', attributes, re.DOTALL)
    if found is None:
        return None
    return _listed(unescape(found[1]), count)


def name_attribute(key: str, names: Sequence[str]) -> str:
    """An entry of frontend_attributes that `stated_names` reads: `backedge_inputs="[\\"x\\"]"`."""
    text = json.dumps(list(names), separators=(",", ":")).replace("\\", "\\\\").replace('"', '\\"')
    return f'{key}="{text}"'


def unescape(text: str) -> str:
    """What a string of HLO says, between its quotes: escapes as in C, bytes as UTF-8 (others stay escaped)."""

    def plain(match: re.Match[bytes]) -> bytes:
        octal, hexadecimal, single = match.groups()
        if single is not None:
            return _SIMPLE.get(single, single)
        return bytes([int(octal, 8) & 255 if octal else int(hexadecimal, 16)])

    return _ESCAPE.sub(plain, text.encode()).decode(errors="backslashreplace")
