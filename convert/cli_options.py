"""What the options of the `backedge` command take, and the options that several commands share."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

import click

from .budget import TIMEOUT
from .format import FORMATS

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
FILE = click.Path(path_type=Path, dir_okay=False)


@dataclass(slots=True)
class Request:
    """What is known of a call when it ends early."""

    json_file: str | None = None


class Shape(click.ParamType):
    """An input's name and its sizes."""

    name = "NAME=2,3,4"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        if isinstance(value, tuple):
            return value
        name, _, dims = str(value).rpartition("=")
        try:
            sizes = tuple(int(dim) for dim in dims.split(",")) if dims else ()
        except ValueError:
            sizes = (-1,)
        if not name or any(size < 0 for size in sizes):
            self.fail(f"{value!r} is not of the form NAME=2,3,4", param, ctx)
        return name, sizes


class OpsetNumber(click.ParamType):
    """An opset, or "min"."""

    name = "N|min"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        if value == "min" or isinstance(value, int):
            return value
        try:
            return int(str(value))
        except ValueError:
            self.fail(f"{value!r} is neither a number nor min", param, ctx)


class Number(click.ParamType):
    """A finite number above 0, or from 0 on."""

    name = "number"

    def __init__(self, zero: bool) -> None:
        self.zero = zero

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        try:
            number = float(str(value))
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or number < 0 or (number == 0 and not self.zero):
            self.fail(f"{value!r} is no finite number {'from 0 on' if self.zero else 'above 0'}", param, ctx)
        return number


class Bytes(click.ParamType):
    """An amount of memory: 512M, 1.5G, 2GiB; a plain number is bytes."""

    name = "SIZE"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", str(value).strip(), re.IGNORECASE)
        size = int(float(found[1]) * _UNITS[found[2].upper()]) if found else 0
        if size < 1 << 20:
            self.fail(f"{value!r} is no amount of memory from 1M on, such as 512M or 2G", param, ctx)
        return size


def writable(ctx: click.Context, param: click.Parameter, value: str | Path | None) -> str | Path | None:
    """A file to be written later: what stands in its way is told before the work begins."""
    if value is not None and str(value) != "-":
        if Path(value).is_dir():
            raise click.BadParameter(f"{value} is a folder", ctx, param)
        if not Path(value).parent.is_dir():
            raise click.BadParameter(f"{value}: no such folder", ctx, param)
    if param.name == "json_file" and isinstance(ctx.obj, Request):
        ctx.obj.json_file = None if value is None else str(value)
    return value


FORMAT = click.Choice(list(FORMATS))
RUNTIMES = list(
    dict.fromkeys(name for entry in FORMATS.values() for name in (entry.runtime, entry.second_runtime) if name)
)
json_option = click.option(
    "--json",
    "json_file",
    metavar="FILE",
    callback=writable,
    is_eager=True,  # so that bad usage is told there, too
    help="Write the report, or why there is none, as JSON; - for stdout.",
)
proof_option = click.option(
    "--proof/--no-proof",
    default=True,
    show_default=True,
    help="Match the files first: what is proved equal, bit for bit, needs few inputs.",
)
certificate_option = click.option(
    "--certificate",
    type=FILE,
    callback=writable,
    help="Write the certificate of the proof into this file, if there is one; see check.",
)
memory_option = click.option(
    "--memory",
    type=Bytes(),
    default="1G",
    show_default=True,
    help="For values that are kept and compared, to find where the files part.",
)
shape_option = click.option("--shape", "shapes", type=Shape(), multiple=True, help="Static shape of an input.")
timeout_option = click.option(
    "--timeout",
    type=Number(zero=False),
    default=TIMEOUT,
    show_default=True,
    help="Seconds for one run in a runtime.",
)
