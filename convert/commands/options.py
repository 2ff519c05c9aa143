"""What the options of the `backedge` command take, and the options that several commands share."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ...passes.errors import InvalidModel
from ...passes.limits import FOLD, MEMORY
from ...passes.operator_profiles import profiles
from ...passes.outputs import check_output
from ...passes.workarounds import keeping_to_the_text
from ..budget import LIMIT, OWN, SPARE, TIMEOUT, TRIALS
from ..ending import Ending
from ..format import FORMATS
from ..guard import SECONDS_PER_MEGABYTE, Limits, guarded
from ..request import Request

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
FILE = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


class Assignment(click.ParamType):
    """An input's name and something for it.

    Args:
        form: what messages call it.
        parse: the text behind the name -> what it means; ValueError where it means nothing.
    """

    def __init__(self, form: str, parse: Callable[[str], Any]) -> None:
        self.name = form.partition(" ")[0]
        self.form, self.parse = form, parse

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        if isinstance(value, tuple):
            return value
        name, _, text = str(value).rpartition("=")
        try:
            if not name:
                raise ValueError
            return name, self.parse(text)
        except ValueError:
            self.fail(f"{value!r} is not of the form {self.form}", param, ctx)


def _sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(int(size) for size in text.split(",")) if text else ()
    if any(size < 0 for size in sizes):
        raise ValueError
    return sizes


def _numbers(text: str) -> Any:
    """A number, true or false, or several separated by commas."""
    numbers = [_number(part) for part in text.split(",")]
    return numbers[0] if len(numbers) == 1 else numbers


def _number(text: str) -> bool | int | float:
    word = text.strip().lower()
    if word in ("true", "false"):
        return word == "true"
    try:
        return int(word)
    except ValueError:
        return float(word)


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
        try:
            check_output(Path(value))
        except InvalidModel as error:
            raise click.BadParameter(str(error), ctx, param) from None
    if param.name == "json_file" and isinstance(ctx.obj, Request):
        ctx.obj.json_file = None if value is None else str(value)
    return value


def _quieter(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    if isinstance(ctx.obj, Request) and value:
        setattr(ctx.obj, str(param.name), True)
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
    help="Try a proof first: files that are proved equal, bit for bit, need few trials.",
)
certificate_option = click.option(
    "--certificate",
    type=FILE,
    callback=writable,
    help="Write the certificate of the proof into this file, if there is one; see check.",
)
shape_option = click.option(
    "--shape",
    "shapes",
    type=Assignment("NAME=2,3,4", _sizes),
    multiple=True,
    help="Static shape of an input; may be given several times.",
)


def _kept(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    ctx.with_resource(keeping_to_the_text(value))
    return value


def faithful_option(used: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--faithful`, which holds for the whole command; one that hands its work on also uses it."""
    return click.option(
        "--faithful",
        is_flag=True,
        expose_value=used,
        callback=_kept,
        help="Keep to the formats' text where OpenVINO's CPU is known to do otherwise: read IR so, write operators so.",
    )


_TIMEOUT, _MEMORY = "backedge.timeout", "backedge.memory"


def _take_timeout(ctx: click.Context, param: click.Parameter, value: float) -> float:
    given = ctx.get_parameter_source(str(param.name)) is not ParameterSource.DEFAULT
    ctx.meta[_TIMEOUT] = value + SPARE if given else OWN, value
    _begin(ctx)
    return value


def _take_memory(ctx: click.Context, param: click.Parameter, value: int) -> int:
    ctx.meta[_MEMORY] = value
    _begin(ctx)
    return value


def _begin(ctx: click.Context) -> None:
    """Hold to the limits from when both are known, in whichever order they are given."""
    if _TIMEOUT not in ctx.meta or _MEMORY not in ctx.meta:
        return
    asked = ctx.obj if isinstance(ctx.obj, Request) else Request()

    def say(end: Ending) -> None:
        from ..terminal import tell

        tell(end, asked)

    ctx.with_resource(guarded(Limits(ctx.meta[_MEMORY], *ctx.meta[_TIMEOUT]), say))


def timeout_option(default: float = TIMEOUT, used: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--timeout`, which a command has together with `--memory`."""
    ours = f"of a stage of backedge's own work, in processor time{f' (there by default {OWN:g})' if used else ''}"
    return click.option(
        "--timeout",
        type=Number(zero=False),
        default=default,
        show_default=True,
        expose_value=used,
        callback=_take_timeout,
        help=f"Time limit, in seconds, {'of one run in a runtime, and ' if used else ''}{ours}; "
        f"files have {SECONDS_PER_MEGABYTE:g} s more for each MB.",
    )


def memory_option(used: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--memory`."""
    return click.option(
        "--memory",
        type=Bytes(),
        default=f"{MEMORY >> 30}G",
        show_default=True,
        expose_value=used,
        callback=_take_memory,
        help="Memory for what a model computes, here and in each runtime: values that are certain to be larger are "
        f"refused. Files have {FOLD} times their size more.",
    )


def limits_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--timeout` and `--memory` of commands that run no model: they hold by themselves."""
    return timeout_option(OWN, used=False)(memory_option(used=False)(command))


quiet_option = click.option(
    "--quiet", "-q", is_flag=True, expose_value=False, callback=_quieter, help="Print errors only."
)
verbose_option = click.option(
    "--verbose",
    "-v",
    is_flag=True,
    expose_value=False,
    callback=_quieter,
    help="Print each stage of the work, with its time, on standard error.",
)
from_option = click.option(
    "--from",
    "format",
    type=FORMAT,
    help="Format of MODEL, if its suffix or, of standard input, its content doesn't say.",
)
from_both_option = click.option(
    "--from",
    "formats",
    type=FORMAT,
    multiple=True,
    help="Format of A, if its suffix doesn't say; given twice, of A and of B.",
)


def of_both(formats: tuple[str, ...]) -> tuple[str | None, str | None]:
    """What `--from` says of two files.

    Raises:
        click.UsageError: it is given three times.
    """
    if len(formats) > 2:
        raise click.UsageError("--from is given more often than there are files")
    first, second = (*formats, None, None)[:2]
    return first, second


_MANY = [
    click.option(
        "--jobs",
        metavar="N",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        help="Number of processes that convert or compare models.",
    ),
    click.option(
        "--scheduler", metavar="URL", default="", help="A Dask scheduler, tcp://host:8786, instead of this machine."
    ),
    click.option(
        "--limit",
        type=Number(zero=False),
        default=LIMIT,
        show_default=True,
        help="Time limit of one of many models, in seconds.",
    ),
    click.option(
        "--results",
        type=FILE,
        help="JSON Lines, one object for each model; models that it has already are skipped. "
        "Default: results.jsonl in the folder of --into.",
    ),
    click.option("--again", is_flag=True, help="Do all models, also those that --results has already."),
    click.option("--junit", type=FILE, callback=writable, help="Write the results as JUnit XML."),
    click.option(
        "--annotations/--no-annotations",
        default=None,
        help="Print annotations for GitHub Actions. Default: on where GitHub Actions runs this.",
    ),
]

_CONVERSION = [
    shape_option,
    click.option(
        "--batch", metavar="N", type=click.IntRange(1), help="The first size of all inputs that leave it open."
    ),
    click.option(
        "--value",
        "values",
        type=Assignment("NAME=3 or NAME=1,2", _numbers),
        multiple=True,
        help="Make an input a constant, for example a trip count; may be given several times.",
    ),
    click.option("--static", is_flag=True, help="Refuse a result with open sizes of an input or output."),
    click.option(
        "--mdf-style",
        type=click.Choice(["function", "stateful"]),
        help="For MDF targets: onnx:: functions, or states and a ConditionSet, which MDF's engine runs.",
    ),
    click.option(
        "--fuse-recurrent",
        is_flag=True,
        help="Replace loops that are an LSTM, GRU or RNN by the operator, which runs faster.",
    ),
    click.option(
        "--unroll",
        metavar="[N]",
        type=click.IntRange(0),
        is_flag=False,
        flag_value=64,
        default=0,
        help="Write out loops whose trip count is certainly at most N; 64 where no number is given.",
    ),
    click.option(
        "--pass",
        "passes",
        metavar="FILE:NAME",
        multiple=True,
        help="Apply rules, or a pass, of a Python file of yours; the file is run.",
    ),
    click.option(
        "--only-ops",
        metavar="FILE|PROFILE",
        help=f"For ONNX: use only the operators of a list; profiles: {', '.join(profiles())}.",
    ),
    click.option(
        "--verify",
        "trials",
        metavar="N",
        type=click.IntRange(0),
        default=TRIALS,
        show_default=True,
        help="Number of trials (sets of designed inputs) of the check; 0: no check.",
    ),
    proof_option,
    timeout_option(),
    memory_option(),
    faithful_option(),
]


def _packed(options: Sequence[Callable[..., Any]], name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command options of which it gets all values as one dict."""

    def packing(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def packed(**values: Any) -> Any:
            taken = {option: values.pop(option) for option in names}
            return command(**values, **{name: taken})

        before = len(getattr(packed, "__click_params__", ()))
        for option in reversed(options):
            option(packed)
        added: list[click.Parameter] = packed.__click_params__[before:]  # type: ignore[attr-defined]
        names = [str(one.name) for one in added]
        return packed

    return packing


many_options = _packed(_MANY, "many")
"""The options of commands on many models: jobs, scheduler, limit, results, again, junit, annotations."""

conversion_options = _packed(_CONVERSION, "asked")
"""What becomes of a model: the arguments of `conversion.convert` but for formats, opset, files."""
