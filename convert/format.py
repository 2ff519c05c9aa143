"""What a format is, and the table of those there are."""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ..passes.errors import InvalidModel
from ..passes.libraries import require

if TYPE_CHECKING:
    from ..passes.graph import Graph
    from ..passes.operator_list import OperatorList
    from ..passes.structure.recurrent import Found


MdfStyle = Literal["function", "stateful"]
Arguments = int | str | Sequence[int | str] | Mapping[str, Any]
"""Arguments of a function, by position or name; names with their values."""

_DIFFERENT = re.compile(r"\d+|'[^']*'|\"[^\"]*\"|\([^()]*\)")  # what differs between one model and another


@dataclass(frozen=True, slots=True)
class Check:
    """Whether a file is one of its format, asked of somebody who isn't us.

    Attributes:
        name: who is asked.
        objection: path -> why it is refused, in one line; "" where it isn't, or nobody can tell.
        by_loading: the format's runtime asks the same when it loads a file: what it has loaded needs no check.
        misdeclared: file, its source -> whether it is only refused for what the source declares of its outputs, too.
    """

    name: str
    objection: Callable[[Path], str]
    by_loading: bool = True
    misdeclared: Callable[[Path, Path], bool] = lambda path, source: False

    def objects_alike(self, found: str, path: Path, source: Path) -> bool:
        """Whether what was found against a file is there against its source, too, but for names and numbers."""
        same = _DIFFERENT.sub("", found) == _DIFFERENT.sub("", self.objection(source))
        return same or self.misdeclared(path, source)


@dataclass(frozen=True, slots=True)
class ListedOperators:
    """How a format's files are written with the operators of a list only.

    Attributes:
        opset: list, graph, the opset that is asked for -> the opset to write at.
        limited: graph in the format's dialect at this opset, list -> the graph with these operators only.
    """

    opset: Callable[[OperatorList, Graph, int | None], int]
    limited: Callable[[Graph, OperatorList], Graph]


@dataclass(frozen=True, slots=True)
class ObjectType:
    """A class of another library whose objects are models.

    Attributes:
        module, name: where the class is found, `jax.stages` and `Lowered`.
        store: object, folder -> the file that it was stored as, in this folder.
    """

    module: str
    name: str
    store: Callable[[Any, Path], Path]

    @property
    def shown(self) -> str:
        """What messages call it."""
        return f"{self.module}.{self.name}"

    def includes(self, source: Any) -> bool:
        """Whether an object is of this class; a library that isn't loaded has no objects, and isn't loaded for it."""
        if self.module.partition(".")[0] not in sys.modules:
            return False
        try:
            kind = getattr(importlib.import_module(self.module), self.name, None)
        except ImportError:
            return False
        return isinstance(kind, type) and isinstance(source, kind)


class Lower(Protocol):
    """The hub -> a dialect, at an opset where the format has them (None: its own choice).

    A graph that is `given` away may be changed and taken apart; else it stays as it was.
    """

    def __call__(self, graph: Graph, opset: int | None = None, *, given: bool = False) -> Graph: ...


@dataclass(frozen=True, slots=True)
class Traced:
    """What is made of a Python function.

    Attributes:
        model: an object of one of a format's `objects`.
        constants: an argument's name -> its arrays, by the names that the model's inputs have.
    """

    model: Any
    constants: Mapping[str, Mapping[str, Any]]


class Trace(Protocol):
    """A Python function, or what a library has made of one, its arguments, and which are constants or Python values ->
    a model; see `convert`."""

    def __call__(
        self, source: Any, args: Sequence[Any] | None, constants: Arguments, static_args: Arguments
    ) -> Traced: ...


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: all that the rest of `convert` asks about one.

    Attributes:
        name: what `--from` and `--to` call it.
        suffixes: file names that end so are of this format.
        dialect: of its graphs; formats may share one.
        read, write: file <-> graph in this dialect, syntax only.
        raise_graph: dialect -> hub.
        lower_graph: hub -> dialect, see `Lower`.
        runtime: the oracle that runs its files.
        about: one line for `backedge formats`.
        check: who accepts or refuses a file of this format.
        direct: dialect -> how its graphs become what this format writes without passing through the hub, at an opset.
        has_sequences: whether its graphs may hold sequences of tensors; elsewhere they become stacked tensors.
        lowest: graph in this dialect -> the same at the lowest opset that has all of it (`--opset min`).
        listed: for formats that `--only-ops` is for.
        styles: for formats that have several ways to write a model (`--mdf-style`): name -> the fields that differ.
        run_style: the one of `styles` that `runtime` runs.
        objection_to_recurrence: a recurrence that `--fuse-recurrent` found -> why the format has no operator for it.
        second_runtime: the oracle that is asked where `runtime` can't load a file, and where the two sides differ.
        unread: those of `suffixes` that the runtimes don't read: they are given a copy under the first suffix.
        run_options: hub graph -> what `runtime` must be told of the model beside its file.
        objects: the classes of other libraries whose objects are models of this format.
        suffix_of: a file's content -> its suffix; "" where the content is of another format.
        to_object: file -> the object that people have in memory instead of one.
        library: the package whose objects these are, where backedge does without it; see `require_library`.
        trace: for the format that Python functions are traced to, see `Trace`.
        settle: file, values of some inputs, those that keep their names, folder -> a file there that has these values
            for constants; None where this file can't be written so.
        writes_hub: whether a graph of the hub's dialect is stored in this format: the hub's operators are its newest.
        is_model: for suffixes that others use, too: whether a file looks like a model, for those who search folders.
        is_quick: whether `runtime` answers as fast as our executor, so that it may be asked thousands of times.
    """

    name: str
    suffixes: tuple[str, ...]
    dialect: str
    read: Callable[[Path], Graph]
    write: Callable[[Graph, Path], None]
    raise_graph: Callable[[Graph], Graph]
    lower_graph: Lower
    runtime: str
    about: str
    check: Check
    suffix_of: Callable[[bytes], str]
    to_object: Callable[[Path], Any]
    library: str = ""
    objects: tuple[ObjectType, ...] = ()
    trace: Trace | None = None
    settle: Callable[[Path, Mapping[str, Any], Collection[str], Path], Path | None] | None = None
    writes_hub: bool = False
    direct: Mapping[str, Callable[[Graph, int | None], Graph]] = field(default_factory=dict)
    has_sequences: bool = False
    lowest: Callable[[Graph], Graph] | None = None
    listed: ListedOperators | None = None
    styles: Mapping[MdfStyle, Mapping[str, Any]] = field(default_factory=dict)
    run_style: MdfStyle | None = None
    objection_to_recurrence: Callable[[Found], str | None] | None = None
    second_runtime: str = ""
    unread: tuple[str, ...] = ()
    run_options: Callable[[Graph], Mapping[str, Any]] | None = None
    is_model: Callable[[Path], bool] | None = None
    is_quick: bool = False

    def goes_by_hub(self, dialect: str, opset: int | Literal["min"] | None) -> bool:
        """Whether graphs of a dialect become this format's, at an opset, by way of the hub."""
        return opset != "min" and dialect not in self.direct and (dialect != self.dialect or opset is not None)

    def require_library(self) -> None:
        """What `to_object` needs.

        Raises:
            InvalidModel: it isn't installed.
        """
        if self.library:
            require(self.library, f"to={self.name!r}", "convert to a file")

    def split(self, name: str) -> tuple[str, str]:
        """A file name without the suffix of this format, and the suffix in small letters; "" where it has none."""
        suffix = next((one for one in self.suffixes if name.lower().endswith(one)), "")
        return name[: len(name) - len(suffix)], suffix

    def in_style(self, style: MdfStyle | None) -> Format:
        """The format, as one that writes in a given style.

        Raises:
            InvalidModel: it has no styles.
        """
        if style is None:
            return self
        if style not in self.styles:
            raise InvalidModel(f"--mdf-style is for MDF, not for {self.name}")
        return replace(self, **self.styles[style])


class _Lazy:
    """A function of a module of this package that is imported when it is called: nobody waits for a format that they
    don't use."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def load(self) -> Callable[..., Any]:
        """The function itself."""
        return getattr(importlib.import_module(self._module, __package__), self._name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.load()(*arguments, **options)


def _reader(runtime: str, name: str) -> Check:
    return Check(name, functools.partial(_Lazy("..runtime.oracles", "why_unread"), runtime))


def _without_opset(lower: Callable[..., Graph], reason: str, **options: Any) -> Lower:
    def lower_graph(graph: Graph, opset: int | None = None, *, given: bool = False) -> Graph:
        if opset is not None:
            raise InvalidModel(reason)
        return lower(graph, given=given, **options)

    return lower_graph


_NO_VERSIONS = "HLO takes no --opset: it has no versions"
_HLO = Format(
    name="hlo",
    suffixes=(".hlo", ".hlo.txt"),
    dialect="hlo",
    read=_Lazy(".hlo.read", "read"),
    write=_Lazy(".hlo.write", "write"),
    raise_graph=_Lazy(".hlo.raising", "raise_graph"),
    lower_graph=_without_opset(_Lazy(".hlo.lowering", "lower_graph"), _NO_VERSIONS),
    runtime="xla",
    about="XLA's HLO as text; while and conditional",
    check=_reader("xla", "XLA"),
    suffix_of=_Lazy(".hlo.objects", "suffix_of_hlo"),
    direct={"hlo": _without_opset(_Lazy(".hlo.closing", "closed"), _NO_VERSIONS)},
    to_object=_Lazy(".hlo.objects", "to_object"),
    objects=(ObjectType("jax.stages", "Compiled", _Lazy(".hlo.objects", "store_compiled")),),
)

FORMATS: dict[str, Format] = {
    entry.name: entry
    for entry in (
        Format(
            name="onnx",
            suffixes=(".onnx", ".onnxtxt"),
            dialect="onnx",
            read=_Lazy(".onnx.read", "read"),
            write=_Lazy(".onnx.write", "write"),
            raise_graph=_Lazy(".onnx.raising", "raise_graph"),
            lower_graph=_Lazy(".onnx.lowering", "lower_graph"),
            runtime="onnxruntime",
            about="ONNX, opset 1 to 28; Loop, Scan and If of every version",
            check=Check(
                "ONNX's checker",
                _Lazy(".onnx.check", "objection"),
                by_loading=False,
                misdeclared=_Lazy(".onnx.check", "misdeclared"),
            ),
            suffix_of=_Lazy(".onnx.objects", "suffix_of"),
            to_object=_Lazy(".onnx.objects", "to_object"),
            objects=(
                ObjectType("onnx", "ModelProto", _Lazy(".onnx.objects", "store_proto")),
                ObjectType("onnx_ir", "Model", _Lazy(".onnx.objects", "store_ir")),
                ObjectType("onnxscript", "OnnxFunction", _Lazy(".onnx.objects", "store_script")),
                ObjectType("torch.onnx", "ONNXProgram", _Lazy(".onnx.objects", "store_program")),
            ),
            writes_hub=True,
            direct={"onnx": _Lazy(".onnx.opset", "at_opset")},
            has_sequences=True,
            lowest=_Lazy(".onnx.opset", "lowest_opset"),
            listed=ListedOperators(_Lazy(".onnx.opset", "listed_opset"), _Lazy(".onnx.opset", "with_listed_operators")),
            second_runtime="reference",
            unread=(".onnxtxt",),
            is_quick=True,
        ),
        Format(
            name="openvino",
            suffixes=(".xml",),
            dialect="openvino",
            read=_Lazy(".openvino.read", "read"),
            write=_Lazy(".openvino.write", "write"),
            raise_graph=_Lazy(".openvino.raising", "raise_canonical"),
            lower_graph=_without_opset(
                _Lazy(".openvino.constant_layers", "lower_graph"),
                "OpenVINO IR takes no --opset: every layer names its own",
            ),
            runtime="openvino",
            about="OpenVINO IR v10 and v11 (.xml + .bin); Loop, TensorIterator and If",
            check=_reader("openvino", "OpenVINO"),
            suffix_of=_Lazy(".openvino.objects", "suffix_of"),
            to_object=_Lazy(".openvino.objects", "to_object"),
            library="openvino",
            is_model=_Lazy(".openvino.objects", "is_model"),
            objects=(ObjectType("openvino", "Model", _Lazy(".openvino.objects", "store_model")),),
            objection_to_recurrence=_Lazy(".openvino.lowering.recurrent", "objection"),
        ),
        _HLO,
        replace(
            _HLO,
            name="stablehlo",
            suffixes=(".mlir", ".mlirbc", ".jax_export", ".hlo.pb"),
            read=_Lazy(".hlo.stablehlo", "read"),
            write=_Lazy(".hlo.stablehlo", "write"),
            lower_graph=_without_opset(_Lazy(".hlo.lowering", "lower_graph"), _NO_VERSIONS, open_sizes=True),
            direct={"hlo": _without_opset(_Lazy(".hlo.closing", "closed"), _NO_VERSIONS, open_sizes=True)},
            about="StableHLO, what jax.export writes and HLO protos, through jaxlib",
            suffix_of=_Lazy(".hlo.objects", "suffix_of_stablehlo"),
            objects=(
                ObjectType("jax.stages", "Lowered", _Lazy(".hlo.objects", "store_lowered")),
                ObjectType("jax.export", "Exported", _Lazy(".hlo.objects", "store_exported")),
            ),
            trace=_Lazy(".hlo.tracing", "traced"),
            settle=_Lazy(".hlo.stablehlo", "with_settled"),
        ),
        Format(
            name="mdf",
            suffixes=(".json", ".yaml", ".yml", ".bson"),
            dialect="mdf",
            read=_Lazy(".mdf.read", "read"),
            write=_Lazy(".mdf.write", "write"),
            raise_graph=_Lazy(".mdf.read", "raise_graph"),
            lower_graph=_Lazy(".mdf.write", "lower_graph"),
            runtime="mdf",
            about="ModECI MDF: onnx:: functions with Loop, Scan and If; native graphs with states and conditions",
            check=_reader("mdf", "modeci-mdf"),
            suffix_of=_Lazy(".mdf.objects", "suffix_of"),
            to_object=_Lazy(".mdf.objects", "to_object"),
            library="modeci_mdf",
            is_model=_Lazy(".mdf.objects", "is_model"),
            objects=(ObjectType("modeci_mdf.mdf", "Model", _Lazy(".mdf.objects", "store_model")),),
            direct={"onnx": _Lazy(".mdf.function_form", "prepared")},
            styles={
                "function": {"dialect": "onnx"},
                "stateful": {"lower_graph": _Lazy(".mdf.write", "lower_to_states"), "direct": {}},
            },
            run_style="stateful",
            run_options=_Lazy(".mdf.read", "run_options"),
        ),
    )
}


def format_by_suffix(path: Path) -> Format | None:
    """The format that a file's suffix says, in any case; None where it says none."""
    name = path.name.lower()
    return next((entry for entry in FORMATS.values() if name.endswith(entry.suffixes)), None)


def format_of_dialect(dialect: str) -> Format:
    """The format as which a graph of a dialect is stored; a hub graph as the one whose newest operators the hub has."""
    is_hub = dialect == "hub"
    return next(entry for entry in FORMATS.values() if (entry.writes_hub if is_hub else entry.dialect == dialect))


def format_of(path: Path, name: str | None = None, option: str = "--from") -> Format:
    """The format called `name`, else the one that the path's suffix says; `option` names it, for messages.

    Raises:
        InvalidModel: there is no such format, or the suffix says nothing.
    """
    if name is not None:
        if name not in FORMATS:
            raise InvalidModel(f"no format {name!r}; there are {', '.join(FORMATS)}")
        return FORMATS[name]
    entry = format_by_suffix(path)
    if entry is not None:
        return entry
    known = ", ".join(suffix for entry in FORMATS.values() for suffix in entry.suffixes)
    if path.is_dir():
        raise InvalidModel(f"{path} is a folder; verify --pairs A B, convert --into and sweep take many models")
    raise InvalidModel(
        f"{path}: its suffix is of no known format ({known}); name one of {', '.join(FORMATS)} with {option}"
    )


def import_readers(paths: Sequence[Path], formats: Sequence[str | None]) -> None:
    """Import what reading these files and raising them takes, which otherwise is done when it is first needed."""
    for path, name in zip(paths, formats, strict=True):
        entry = format_of(path, name)
        for function in (entry.read, entry.raise_graph):
            if isinstance(function, _Lazy):
                function.load()
