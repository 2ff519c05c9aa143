"""How operands are picked for sequences, signals, strings, losses, and what divides."""

from __future__ import annotations

import numpy as np

from .evaluate import FLOATS, element
from .maker import Missing
from .operators import Call, Picked, container, numbers_of, row

# sequences, signals, the rest ------------------------------------------------------------------------


@row("SequenceAt SequenceErase SequenceInsert")
def _(c: Call) -> Picked:
    x = container(c, 0)
    insert = c.schema.name == "SequenceInsert"
    size = len(x.example) + insert
    if not size:
        raise Missing
    place = c.whole(2 if insert else 1, c.m.random.randint(-size + insert, size - 1))
    if insert:
        kind = element(x.type)
        return [x, c.m.find(c.s, [kind]), *c.m.some([place])], {}
    return [x, place], {}


@row("NonZero")
def _(c: Call) -> Picked:
    """Not of a scalar: the example is ONNX Runtime's, which has a row for it, and the text has none."""
    return [c.tensor(0, ranks=(1, 4))], {}


@row("SequenceConstruct")
def _(c: Call) -> Picked:
    first = c.tensor(0)
    rest = [c.tensor(0, shape=first.shape if c.m.chance(0.7) else None) for _ in range(c.m.random.randint(0, 3))]
    return [first, *rest], {}


@row("ConcatFromSequence")
def _(c: Call) -> Picked:
    x = container(c, 0)
    rank = max((np.ndim(one) for one in x.example), default=0)
    new = c.flag()
    return [x], {"axis": c.axis(rank, new), "new_axis": new}


@row("SequenceEmpty")
def _(c: Call) -> Picked:
    raise Missing  # an example tells no type; loops over sequences reach emptiness by SequenceErase


@row("Optional OptionalGetElement OptionalHasElement")
def _(c: Call) -> Picked:
    """Optionals that hold something, which examples don't tell from what they hold."""
    value = c.m.one([v for v in c.s.pool if v.tensor or v.type.startswith("seq")])
    if c.schema.name == "Optional":
        return [value], {}
    if c.m.chance(0.5) or c.schema.since_version < 18:
        (value,) = c.m.emit(c.s, "Optional", [value])
    return [value], {}


@row("NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss")
def _(c: Call) -> Picked:
    n, classes = c.m.random.randint(1, 3), c.m.random.randint(2, 4)
    more = c.m.dims(0, 1)
    x = c.tensor(0, shape=(n, classes, *more))
    target = c.whole(1, c.m.numbers.integers(0, classes, (n, *more)))
    weight = [c.tensor(2, shape=(classes,))] if c.m.chance(0.4) else []
    attributes = c.some_attributes(
        reduction=lambda: c.m.one(("none", "mean", "sum")), ignore_index=lambda: c.m.random.randint(0, 1)
    )
    return [x, target, *weight], attributes


@row("Dropout")
def _(c: Call) -> Picked:
    """Before version 12 nobody says which mask there is where nothing is dropped."""
    return [c.tensor(0)], {"_outputs": c.m.random.randint(1, 2 if c.schema.since_version >= 12 else 1)}


@row("NonMaxSuppression")
def _(c: Call) -> Picked:
    corners = np.sort(c.m.numbers.random((1, 4, 2, 2)), axis=2).reshape(1, 4, 4).astype(np.float32)
    scores = c.m.new(c.s, c.m.numbers.random((1, 2, 4)).astype(np.float32))
    limits = [c.whole(2, [c.m.random.randint(0, 3)])]
    limits += [c.m.constant(c.s, np.array([x], np.float32)) for x in (0.5, c.m.one((0.0, 0.3)))]
    return [c.m.new(c.s, corners), scores, *limits], c.some_attributes(center_point_box=c.flag)


@row("RoiAlign")
def _(c: Call) -> Picked:
    x = c.tensor(0, shape=(1, 2, 4, 4))
    rois = c.m.constant(c.s, np.array([[0, 0, 3, 2], [1, 0.5, 2, 3]]).astype(np.asarray(x.example).dtype))
    attributes = c.some_attributes(
        mode=lambda: "avg", sampling_ratio=lambda: c.m.random.randint(1, 2),
        coordinate_transformation_mode=lambda: c.m.one(("half_pixel", "output_half_pixel")),
    )  # fmt: skip
    return [x, rois, c.whole(2, [0, 0])], {**attributes, "output_height": 2, "output_width": c.m.random.randint(1, 3)}


@row("DFT")
def _(c: Call) -> Picked:
    x = c.tensor(0, shape=(c.m.random.randint(1, 2), c.m.random.randint(1, 5), c.m.random.randint(1, 2)))
    one = x.shape[-1] == 1
    attributes = {"onesided": c.flag()} if one else {"inverse": c.flag()}
    if c.has("axis"):
        return [x], {**attributes, "axis": 1}
    return [x, None, *([c.whole(2, 1)] if c.m.chance(0.6) else [])], attributes


@row("BlackmanWindow HammingWindow HannWindow")
def _(c: Call) -> Picked:
    """Of 3 or more: one of 2 may be nothing but what rounding leaves of 0."""
    return [c.whole(0, c.m.random.randint(3, 6))], numbers_of(c)


@row("BitShift")
def _(c: Call) -> Picked:
    """By less than there are bits: what more gives, nobody says."""
    x = c.tensor(0)
    by = c.m.numbers.integers(0, 8, x.shape).astype(np.asarray(x.example).dtype)
    return [x, c.m.constant(c.s, by)], {"direction": c.m.one(("LEFT", "RIGHT"))}


@row("Div Mod")
def _(c: Call) -> Picked:
    """No integer is divided by nothing, which a runtime may die of."""
    x = c.tensor(0)
    mod = c.schema.name == "Mod"
    fmod = {"fmod": 1} if mod and (x.element in FLOATS or c.m.chance(0.4)) else {}
    if "int" not in x.element:
        return [x, c.broadcast(1, x)], fmod
    other = np.asarray(c.m.one((1, 2, 3, 5, 7, *(() if x.element[0] == "u" else (-2, -3)))))
    return [x, c.m.constant(c.s, other.astype(np.asarray(x.example).dtype))], fmod


@row("PRelu")
def _(c: Call) -> Picked:
    x = c.tensor(0)
    return [x, c.tensor(1, shape=c.m.one([(), x.shape, x.shape[-1:]]))], {}


@row("Clip")
def _(c: Call) -> Picked:
    x = c.tensor(0)
    if c.has("min"):
        return [x], c.some_attributes(min=lambda: -0.5, max=lambda: 1.0)
    return [x, *(c.tensor(k, shape=()) if c.m.chance(0.7) else None for k in (1, 2))], {}


@row("StringSplit")
def _(c: Call) -> Picked:
    return [c.tensor(0)], {**c.some_attributes(delimiter=lambda: ",", maxsplit=lambda: 1), "_outputs": 2}


@row("RegexFullMatch")
def _(c: Call) -> Picked:
    return [c.tensor(0)], {"pattern": c.m.one(("a.*", "[a-z]+", ""))}


@row("StringNormalizer")
def _(c: Call) -> Picked:
    return [c.tensor(0, ranks=(1, 1))], c.some_attributes(
        case_change_action=lambda: c.m.one(("LOWER", "UPPER", "NONE")),
        is_case_sensitive=c.flag,
        stopwords=lambda: ["ab", "X"],
    )


@row("TfIdfVectorizer")
def _(c: Call) -> Picked:
    x = c.m.find(c.s, ["int64", "int32"], ranks=(1, 2))
    return [x], {
        "mode": c.m.one(("TF", "IDF", "TFIDF")), "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": c.flag(),
        "ngram_counts": [0, 2], "ngram_indexes": [0, 1, 2, 3], "pool_int64s": [1, 2, 1, 2, 3, 3],
        "weights": [0.5, 1.0, 2.0, 1.5],
    }  # fmt: skip
