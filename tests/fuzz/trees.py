"""Mutations of files that are trees: OpenVINO IR (XML and weights), MDF (JSON, YAML, BSON)."""

from __future__ import annotations

import contextlib
import copy
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import bson
import yaml

from .sample import FLOATS, INTEGERS, NAMES, Sample
from .texts import scrambled

Element = ElementTree.Element
_TEXTS = (
    *NAMES,
    *map(str, INTEGERS),
    "1,2",
    "-1,?",
    "?",
    "1..3",
    "...",
    "nan",
    "inf",
    "true",
    "f32",
    "i64",
    "abc",
    "99" * 40,
)
_LAYERS = (
    "Add",
    "Concat",
    "Loop",
    "TensorIterator",
    "If",
    "Result",
    "Parameter",
    "Const",
    "Split",
    "Reshape",
    "Gather",
)


def mutated_xml(sample: Sample, random: Random, others: list[Sample]) -> Sample:
    """One to four changes of elements, attributes or weights; seldom of the text."""
    if random.random() < 0.05:
        return sample.but(scrambled(sample.data, random))
    if random.random() < 0.05 and sample.weights:
        return replace(
            sample, weights=random.choice((None, b"", sample.weights[: random.randrange(len(sample.weights))]))
        )
    root = ElementTree.fromstring(sample.data)
    for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
        with contextlib.suppress(IndexError):
            _element(root, random, others)
    return sample.but(ElementTree.tostring(root))


def _element(root: Element, random: Random, others: list[Sample]) -> None:
    elements = list(root.iter())
    chosen, parent = random.choice(elements), random.choice([one for one in elements if len(one)])
    at = random.randrange(len(parent))
    match random.randrange(9):
        case 0:
            del parent[at]
        case 1:
            parent.insert(at, copy.deepcopy(parent[at]))
        case 2:
            alike = [one for one in elements if one.tag == chosen.tag]
            other = random.choice(alike)
            chosen.attrib, other.attrib = other.attrib, chosen.attrib
        case 3:
            alike = [one for one in elements if one.tag == parent[at].tag]
            parent[at] = copy.deepcopy(random.choice(alike))
        case 4:
            text = random.choice([one for one in elements if one.text and one.text.strip()])
            text.text = random.choice(_TEXTS)
        case 5:
            layer = random.choice([one for one in elements if one.tag == "layer"])
            layer.set(
                "type", random.choice((*_LAYERS, *(str(one.get("type")) for one in elements if one.tag == "layer")))
            )
        case 6:
            source = ElementTree.fromstring(random.choice(others).data)
            alike = [one for one in source.iter() if one.tag == parent[at].tag]
            parent[at] = random.choice(alike)
        case _:
            holder = random.choice([one for one in elements if one.attrib])
            name = random.choice(list(holder.attrib))
            alike = [one.attrib[name] for one in elements if name in one.attrib]
            if random.random() < 0.2:
                del holder.attrib[name]
            else:
                holder.attrib[name] = random.choice((*alike, random.choice(_TEXTS), random.choice(_TEXTS)))


def reductions_xml(sample: Sample) -> Iterator[Sample]:
    """The file with an element or an attribute less."""
    try:
        root = ElementTree.fromstring(sample.data)
    except ElementTree.ParseError:
        return
    for at, parent in enumerate(root.iter()):
        for child in range(len(parent)):
            copied = copy.deepcopy(root)
            holder = list(copied.iter())[at]
            del holder[child]
            yield sample.but(ElementTree.tostring(copied))
        for name in parent.attrib:
            copied = copy.deepcopy(root)
            del list(copied.iter())[at].attrib[name]
            yield sample.but(ElementTree.tostring(copied))


# MDF ---------------------------------------------------------------------------------------------


def load_tree(sample: Sample) -> Any:
    """The plain values that a file holds."""
    if sample.suffix == ".bson":
        return bson.decode(sample.data)
    return json.loads(sample.data) if sample.suffix == ".json" else yaml.safe_load(sample.data)


def dump_tree(sample: Sample, tree: Any) -> Sample:
    """The file with other plain values; the same file where it can't hold them."""
    try:
        if sample.suffix == ".bson":
            return sample.but(bson.encode(tree))
        text = json.dumps(tree) if sample.suffix == ".json" else yaml.safe_dump(tree, sort_keys=False)
        return sample.but(text.encode(errors="surrogatepass"))
    except Exception:
        return sample


def mutated_mdf(sample: Sample, random: Random, others: list[Sample]) -> Sample:
    """One to four changes of objects, lists or values; seldom of the text."""
    if random.random() < 0.07:
        return sample.but(scrambled(sample.data, random))
    tree = load_tree(sample)
    for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
        _node(tree, random, others)
    if random.random() < 0.1:
        sample = replace(sample, suffix=random.choice((".json", ".yaml", ".bson")))
    return dump_tree(sample, tree)


def _holders(tree: Any) -> Iterator[Any]:
    if isinstance(tree, dict | list) and tree:
        yield tree
        for value in list(tree.values() if isinstance(tree, dict) else tree)[:200]:
            yield from _holders(value)


def _node(tree: Any, random: Random, others: list[Sample]) -> None:
    holders = list(_holders(tree))
    if not holders:
        return
    holder = random.choice(holders)
    key = random.choice(list(holder)) if isinstance(holder, dict) else random.randrange(len(holder))
    match random.randrange(7):
        case 0:
            del holder[key]
        case 1:
            other = random.choice(holders)
            holder[key] = copy.deepcopy(other[random.choice(list(other)) if isinstance(other, dict) else 0])
        case 2 if isinstance(holder, dict):
            holder[random.choice((*NAMES, *(name for one in holders if isinstance(one, dict) for name in one)))] = (
                holder[key]
            )
        case 3 if isinstance(holder, dict):
            source = [
                one[key]
                for other in others[:20]
                for one in _holders(load_tree(other))
                if isinstance(one, dict) and key in one
            ]
            holder[key] = random.choice(source or [None])
        case 4 if isinstance(holder[key], str):
            holder[key] = scrambled(holder[key].encode(), random).decode(errors="replace")
        case _:
            texts = [
                one
                for other in holders
                for one in (other.values() if isinstance(other, dict) else other)
                if isinstance(one, str)
            ]
            plain = (
                None,
                True,
                [],
                {},
                [[]],
                [1, [2]],
                "x + 1",
                "x[0",
                "onnx::Add",
                *INTEGERS,
                *FLOATS,
                *NAMES,
                *texts,
            )
            holder[key] = random.choice(plain)


def reductions_mdf(sample: Sample) -> Iterator[Sample]:
    """The file with an entry less."""
    try:
        tree = load_tree(sample)
    except Exception:
        return
    for at, holder in enumerate(_holders(tree)):
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            copied = copy.deepcopy(tree)
            del list(_holders(copied))[at][key]
            yield dump_tree(sample, copied)
