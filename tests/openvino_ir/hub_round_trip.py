"""IR -> hub -> IR, and what of the first file is still there in the second: a report.

    cd tests; python -m openvino_ir.hub_round_trip [FOLDER] [SOURCE ...]

SOURCE is one of `openvino_raising.make_ir`: "nodes", "catalogue", a module with CASES there, with "+dynamic" behind it.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from backedge.convert.files import to_hub
from backedge.convert.openvino.dialect import META, PORT
from backedge.convert.openvino.lowering import lower_graph
from backedge.convert.openvino.read import read
from backedge.convert.openvino.write import write
from backedge.passes.errors import BackedgeError
from backedge.passes.graph import Graph
from openvino_lowering.worker import Worker
from openvino_raising.corpus import difference, make, numbers

from .seen import seen

REFUSED, LOADED, WRONG, CHANCE, CLOSE, SAME = "refused", "not loaded", "wrong", "by chance", "close", "same"


@dataclass
class Trip:
    """What became of one file.

    Attributes:
        stage: how far it came; `SAME` is the same bits in every output, `CLOSE` within tolerance, `CHANCE` where
            OpenVINO gives others for the source, too, each time it runs.
        interface: what is different about the inputs and outputs for OpenVINO's users.
        layers, tensors: names of layers and of inner tensors, how many are still there of how many.
        nodes: operators before and after, bodies included, constants not.
        operators: which ones there are more (or less) of.
    """

    name: str
    stage: str = SAME
    reason: str = ""
    interface: list[str] = field(default_factory=list)
    layers: tuple[int, int] = (0, 0)
    tensors: tuple[int, int] = (0, 0)
    nodes: tuple[int, int] = (0, 0)
    operators: dict[str, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)

    @property
    def growth(self) -> float:
        return self.nodes[1] / max(self.nodes[0], 1)


def there_and_back(source: Path) -> Path:
    """The file of the same model that has been in the hub, beside the source."""
    target = source.with_name(f"back_{source.name}")
    write(lower_graph(to_hub(read(source))), target)
    return target


def operators(graph: Graph) -> Counter[str]:
    return Counter(node.op_type for _, node in graph.walk())


def layer_names(graph: Graph) -> set[str]:
    return {node.name for _, node in graph.walk()} | {one.name for one in graph.meta[META].results}


def layer_notes(graph: Graph) -> dict[str, Any]:
    """The rt_info of all layers, of their ports and of Parameters, Constants and Results, by the layers' names."""
    found: dict[str, Any] = {}
    for inner in graph.graphs():
        metas = [(node.meta or {}).get(META) for node in inner.nodes]
        metas += [(value.meta or {}).get(META) for value in (*inner.inputs, *inner.constants)]
        for meta in (*metas, *inner.meta[META].results):
            if meta is not None and (meta.rt_info or meta.user_data or meta.input_ports):
                found[meta.name] = meta.rt_info, meta.user_data, meta.input_ports
    return found


def tensor_names(graph: Graph) -> set[str]:
    """All tensor names, bodies' too, of what isn't constant."""
    return {
        name
        for inner in graph.graphs()
        for value in inner.values()
        if value.data is None
        for name in ((value.meta or {}).get(PORT) and value.meta[PORT].names) or ()  # type: ignore[index]
    }


def changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What OpenVINO's users would notice of two interfaces."""
    told: list[str] = []
    for side in ("inputs", "outputs"):
        if len(before[side]) != len(after[side]):
            told.append(f"{len(after[side])} {side}, not {len(before[side])}")
            continue
        for place, (old, new) in enumerate(zip(before[side], after[side], strict=True)):
            told += [
                f"{side[:-1]} {place}: {key} {new[key]}, not {old[key]}"
                for key in old
                if old[key] != new[key] and not (key == "shape" and side == "outputs")
            ]
    if before["variables"] != after["variables"]:
        told.append(f"variables {after['variables']}, not {before['variables']}")
    return told


def judge(source: Path, worker: Worker) -> Trip:
    trip, held = Trip(source.stem), numbers(source)
    try:
        target = there_and_back(source)
    except BackedgeError as error:
        trip.stage, trip.reason = REFUSED, str(error)
        return trip
    before, after = read(source), read(target)
    _look(trip, before, after)
    try:
        shown, wanted = worker.ask(source, held.inputs)
    except (RuntimeError, TimeoutError):
        try:
            shown, wanted = worker.ask(source)
        except (RuntimeError, TimeoutError) as error:
            trip.stage, trip.reason = LOADED, f"nor the source: {error}"
            return trip
    try:
        seen_now, found = worker.ask(target, held.inputs)
    except (RuntimeError, TimeoutError) as error:
        trip.stage, trip.reason = LOADED, str(error)
        return trip
    trip.interface = changed(shown, seen_now)
    if len(found) != len(wanted) or any(not _same(one, other) for one, other in zip(found, wanted, strict=True)):
        trip.reason = difference(found, wanted)
        trip.stage = WRONG if trip.reason else CLOSE
        if trip.reason and held.expected and not difference(found, held.expected, 1e-3, 1e-4):
            trip.stage, trip.reason = CLOSE, "as the case expects, other than OpenVINO of the source"
    if trip.stage == WRONG and any(difference(worker.ask(source, held.inputs)[1], wanted) for _ in range(3)):
        trip.stage = CHANCE  # what stood in memory
    return trip


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return one.tolist() == other.tolist() if one.dtype.kind in "OUS" else one.tobytes() == other.tobytes()


def _look(trip: Trip, before: Graph, after: Graph) -> None:
    """Names and operators."""
    names, kept = layer_names(before), layer_names(after)
    trip.layers = len(names & kept), len(names)
    tensors, left = tensor_names(before), tensor_names(after)
    trip.tensors = len(tensors & left), len(tensors)
    trip.lost = sorted(tensors - left)
    old, new = operators(before), operators(after)
    trip.nodes = old.total(), new.total()
    trip.operators = {kind: new[kind] - old[kind] for kind in sorted({*old, *new}) if new[kind] != old[kind]}
    told, kept_told = layer_notes(before), layer_notes(after)
    trip.interface += [f"rt_info of {name}" for name in told if name in kept and told[name] != kept_told.get(name)]
    if before.meta[META].rt_info != after.meta[META].rt_info:
        trip.interface.append("the model's rt_info")


def files(folder: Path, source: str) -> list[Path]:
    """The usable files of a source; made if they aren't there yet."""
    done = folder / f"{source}.made"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        reasons = make(folder, source).reasons
        done.write_text("\n".join(name for name, reason in reasons.items() if not reason))
    return [folder / f"{name}.xml" for name in done.read_text().splitlines()]


def travel(paths: Iterable[Path]) -> list[Trip]:
    worker = Worker(seen)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [judge(path, worker) for path in paths]
    finally:
        worker.stop()


def report(trips: list[Trip]) -> list[str]:
    """The figures, the files that didn't arrive as they left, and the worst growth."""
    lines = [f"{trip.stage}: {trip.name}: {trip.reason}" for trip in trips if trip.stage not in (SAME, CLOSE, CHANCE)]
    lines += [f"interface: {trip.name}: {'; '.join(trip.interface)}" for trip in trips if trip.interface]
    arrived = [trip for trip in trips if trip.stage in (SAME, CLOSE)]
    for trip in sorted(arrived, key=lambda trip: (trip.nodes[0] - trip.nodes[1], trip.name)):
        if trip.growth > 1:
            lines.append(f"growth: {trip.name}: {trip.nodes[0]} -> {trip.nodes[1]} {trip.operators}")
    lines += [f"tensors lost: {trip.name}: {trip.lost[:6]}" for trip in arrived if trip.lost]
    stages = Counter(trip.stage for trip in trips)
    lines.append(f"{len(trips)} files: {', '.join(f'{count} {stage}' for stage, count in stages.most_common())}")
    for what in ("layers", "tensors", "nodes"):
        first, second = (sum(getattr(trip, what)[side] for trip in arrived) for side in (0, 1))
        lines.append(f"{what}: {first} -> {second}" if what == "nodes" else f"{what} kept: {first} of {second}")
    lines.append(f"{sum(bool(trip.interface) for trip in arrived)} other interfaces")
    return lines


def main() -> None:
    arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(arguments[0]) if arguments else Path(made)
        for source in arguments[1:] or ["nodes"]:
            print(source, *report(travel(files(folder / source, source))), sep="\n")


if __name__ == "__main__":
    main()
