"""Numbers, operators, conditions and subscripts of expressions, against MDF's engine and NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from backedge.convert.mdf.raising.numpy.ufuncs import UFUNCS
from backedge.passes.errors import InvalidModel, Unsupported

from mdf.evaluated import agree, assert_same, built, each, ours, theirs

FLOATS = np.array(
    [
        *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, 3.5, -2.5, 8.0, 1000.0, 0.1, np.pi, 710.0, -746.0),
        *(1e-17, -1e-5, 1e-307, 1e-300, 1e300, np.inf, -np.inf, np.nan),
    ]
)
INTEGERS = np.array([0, 1, -1, 2, 3, -7, 10, 2**40, -(2**40)])
VALUES: dict[str, Any] = {
    "f": 2.5,
    "g": -0.0,
    "n": 3,
    "m": -2,
    "t": True,
    "u": False,
    "z": np.array(0.75),
    "k": np.array(4),
    "q": np.array(True),
    "A": np.array([1.0, -2.0, np.nan]),
    "I": np.array([3, -4, 0]),
    "B": np.array([True, False, True]),
    "S": np.float32([1.5, -2.0, 0.0]),
    "E": np.zeros(0),
    "M": np.array([[1.0, 2.0, -3.0], [0.5, 0.0, 4.0]]),
}
SYMBOLS = ("+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "&", "|", "^", "@")


def supported(text: str, **values: Any) -> None:
    """As `agree`, where a result in float16 or int8 isn't expected of us."""
    try:
        expected = theirs(text, **values)
    except Exception:
        expected = None
    if expected is not None and np.asarray(expected).dtype in (np.float16, np.int8):
        with pytest.raises(Unsupported, match=r"float16|int8"):
            ours(text, **values)
    else:
        agree(text, **values)


# operators ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_operators(symbol: str) -> None:
    """Every pair of kinds of numbers."""
    for a, b in itertools.product(VALUES, repeat=2):
        supported(f"{a} {symbol} {b}", **{a: VALUES[a], b: VALUES[b]})


@pytest.mark.parametrize("symbol", ["-", "+", "~", "not "])
@pytest.mark.parametrize("name", VALUES)
def test_signs(symbol: str, name: str) -> None:
    agree(f"{symbol}{name}", **{name: VALUES[name]})


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "//", "%", "<", "=="])
def test_edges(symbol: str) -> None:
    """Zeros of both signs, infinities, NaN, and the ends of the range."""
    text = f"a {symbol} b"
    for numbers in (FLOATS, INTEGERS):
        agree(text, a=numbers[:, None], b=numbers[None, :])
    agree(text, a=FLOATS[:, None], b=INTEGERS[None, :])


POWERS = [
    ("a ** 2", {"a": 3}),
    ("a ** 0", {"a": 0}),
    ("a ** -1", {"a": 4}),
    ("a ** -2", {"a": -4}),
    ("a ** 2.5", {"a": 4}),
    ("a ** b", {"a": 2.0, "b": 3}),
    ("a ** b", {"a": 2.0, "b": -3.5}),
    ("a ** b", {"a": True, "b": 0.5}),
    ("a ** 2", {"a": True}),
    ("a ** b", {"a": np.array([2, 3]), "b": np.array([3, 0])}),
    ("a ** 2", {"a": np.array([2, -3])}),
    ("a ** -1", {"a": np.array([2, -3])}),
    ("a ** -1", {"a": np.array([2.0, 0.0])}),
    ("a ** 0.5", {"a": np.array([4.0, 2.0, 0.0, np.inf])}),
    ("a ** b", {"a": FLOATS[:, None], "b": np.array([0.0, 1.0, 2.0, -1.0, 3.0, -2.5])}),
    ("a ** b", {"a": np.array([2.0, 3.0]), "b": np.array([3, -2])}),
    ("2 ** a", {"a": np.array([1, 2, 10])}),
    ("2.5 ** a", {"a": np.array([1, -2, 10])}),
    ("a ** b ** c", {"a": 2.0, "b": 3.0, "c": 0.5}),
    ("-a ** 2", {"a": 3.0}),
]


@pytest.mark.parametrize(("text", "values"), POWERS)
def test_powers(text: str, values: dict[str, Any]) -> None:
    agree(text, **values)


def test_a_power_whose_kind_is_not_known() -> None:
    """Python makes an integer or a float of it."""
    with pytest.raises(Unsupported, match="integer or a float"):
        ours("a ** b", a=2, b=3)
    assert_same(ours("a ** b", True, a=2, b=3), 8)
    assert_same(ours("a ** b", True, a=2, b=-3), 0.125)


def test_constants_are_pythons() -> None:
    """What is known is exactly what the engine has: a whole float has become an integer."""
    for text in each("7 // 2; -7 // 2; -7 % 3; 7.5 % -2; 7 / 2; 4 / 2; 2 ** -1; 10 ** 18; 1e3 * 2; 0.0 * -1"):
        assert_same(ours(text), theirs(text), 0, text)
    assert ours("4 / 2").dtype == np.int64


@pytest.mark.parametrize(
    "text", each("1 / 0; 1 % 0; 0.0 ** -1; 1e300 ** 2; 2.5 & 1; 1.5 | 2; ~2.5; True @ 2; [1] - 1; -[1]; [1] < 2")
)
def test_what_python_refuses(text: str) -> None:
    with pytest.raises(InvalidModel, match="here"):
        ours(text)


def test_a_root_of_a_negative_number_is_complex() -> None:
    with pytest.raises(Unsupported, match="no real number"):
        ours("(-8) ** 0.5")


# universal functions -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", UFUNCS)
def test_universal_functions(name: str) -> None:
    """Every row on every kind of number, and on the edges."""
    if UFUNCS[name].ufunc.nin == 1:
        for key, value in VALUES.items():
            kind = np.asarray(value).dtype.kind
            if (name, kind) not in (("reciprocal", "i"), ("signbit", "b")):
                supported(f"numpy.{name}({key})", **{key: value})
        agree(f"numpy.{name}(a)", a=FLOATS)
        return
    for a, b in itertools.product(VALUES, repeat=2):
        if a in "fntzB" or b in "fntzI":
            supported(f"numpy.{name}({a}, {b})", **{a: VALUES[a], b: VALUES[b]})
    agree(f"numpy.{name}(a, b)", a=FLOATS[:, None], b=FLOATS[None, :])


def test_powers_of_integers_are_integers() -> None:
    assert_same(ours("numpy.power(a, b)", a=np.array([2, -3]), b=np.array([10, 3])), np.array([1024, -27]))


def test_reciprocals_of_integers_are_refused() -> None:
    with pytest.raises(Unsupported, match="reciprocal"):
        ours("numpy.reciprocal(a)", a=np.array([2, 4]))


def test_logarithms_of_powers_are_whole() -> None:
    assert list(ours("numpy.log10(a)", a=10.0 ** np.arange(-5, 23))) == list(range(-5, 23))
    assert list(ours("numpy.log2(a)", a=2.0 ** np.arange(-60, 60))) == list(range(-60, 60))


# conditions --------------------------------------------------------------------------------------

CONDITIONS = [
    "a if c else b",
    "a if not c else b",
    "c and a",
    "c or a",
    "a and b",
    "a or b",
    "a and b or c",
    "c and a and b",
    "not a",
    "0 < a < 3",
    "0 < a < b < 10",
    "a if a > b else b",
    "a == b or a > 0",
    "(a if c else b) + 1",
    "(c and a) * 2.5",
    "c and 1 or 0",
]


@pytest.mark.parametrize("text", CONDITIONS)
@pytest.mark.parametrize("c", [True, False, 0, 2.5, np.array(True), np.array([0.0]), np.array(np.nan)])
@pytest.mark.parametrize(("a", "b"), [(1.5, 2.5), (0, -1), (np.array(2), np.array(0)), (np.array(0.0), np.array(3.0))])
def test_conditions(text: str, a: Any, b: Any, c: Any) -> None:
    """Values, as Python has them: of mixed types the one that holds both."""
    values = {name: value for name, value in (("a", a), ("b", b), ("c", c)) if name in text.replace("and", "")}
    expected = theirs(text, **values)
    for constant in (False, True):
        try:
            made = ours(text, constant, **values)
        except Unsupported as refusal:
            assert np.ndim(c) and "shape" in str(refusal), (text, values)  # () or (1,)
            continue
        assert np.array_equal(made, np.asarray(expected), equal_nan=True), (text, values)


def test_a_known_condition_decides_at_once() -> None:
    """The other branch may be anything."""
    assert_same(ours("[1, 2] if True else unknown"), np.array([1, 2]))
    assert_same(ours("0 and 1 / 0"), 0)
    assert_same(ours("1 or 1 / 0"), 1)
    assert_same(ours("2 < 1 < 1 / 0"), False)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a if x else b", "neither true nor false"),
        ("x and a", "neither true nor false"),
        ("not x", "neither true nor false"),
        ("0 < x < 1", "neither true nor false"),
        ("x if c else a", "of shape"),
        ("[1] if c else (1,)", "tuple"),
        ("-((a > 1) and c)", "boolean"),
        ("(a > 1 and c) + (a > 0)", "boolean"),
        ("(i if c else a) // j", "type"),
    ],
)
def test_what_a_condition_leaves_open(text: str, reason: str) -> None:
    with pytest.raises(Unsupported) as caught:
        ours(text, a=np.array(1.0), b=2.0, c=True, x=np.array([1.0, 2.0]), i=np.array(1), j=np.array(0))
    assert reason in str(caught.value)


def test_an_index_in_a_branch_that_is_not_taken() -> None:
    """Out of range there, it doesn't end the run."""
    for i in (0, 2, 7, -9):
        assert_same(
            ours("x[i] if i < 3 and i >= -3 else -1.0", x=np.array([1.0, 2.0, 3.0]), i=i),
            theirs("x[i] if i < 3 and i >= -3 else -1.0", x=np.array([1.0, 2.0, 3.0]), i=i),
        )


# lists -------------------------------------------------------------------------------------------

LISTS = [
    "[a, b]",
    "[a, [1]][0]",
    "[[a, b], [b, a]]",
    "[]",
    "(a, b)",
    "(a,)",
    "[a, b][1]",
    "[a, b][-1]",
    "[a, b][k]",
    "(a, x)[1]",
    "[a, b, 1][1:]",
    "[a] + [b]",
    "[a, b] * 2",
    "3 * [a]",
    "[a, b] + x",
    "x * [a, b]",
    "[a, b] == x",
    "[1, 2] @ x",
    "[a, b] == 3",
    "len([a, b])",
    "[1, 2.5]",
    "[True, 2]",
    "[True, False]",
    "[x, x]",
    "not []",
    "1 if [0] else 2",
    "[True, False][0] + True",
    "(1, 2) + (3,)",
]


@pytest.mark.parametrize("text", LISTS)
def test_lists(text: str) -> None:
    values = {"a": 1.5, "b": 2, "x": np.array([10.0, 20.0]), "k": 1}
    used = {name: value for name, value in values.items() if name in text.replace("len", "").replace("False", "")}
    expected = theirs(text, **used)
    expected = np.array(expected) if isinstance(expected, list) else expected
    for constant in (False, True):
        made = ours(text, constant, **used)
        if isinstance(expected, tuple):
            assert isinstance(made, tuple)
            for one, other in zip(made, expected, strict=True):
                assert np.array_equal(one, other), text
        else:
            assert np.array_equal(made, expected) and made.shape == np.shape(expected), text


def test_a_list_that_is_kept_is_a_list() -> None:
    """What an expression gives as a list is one where it is named in another one, and an array by its name alone."""
    from backedge.convert.mdf.raising.numpy.evaluate import evaluate

    def doubled(op: Any, scope: Any) -> Any:
        kept = evaluate(op, "[a, 2]", scope, "here")
        inside = evaluate(op, "2 * v", {"v": kept}, "here")
        alone = evaluate(op, "v", {"v": kept}, "here")
        return inside, evaluate(op, "2 * v", {"v": alone}, "here"), evaluate(op, "v[0]", {"v": kept}, "here")

    repeated, doubled_, first = built(doubled, {"a": 1.5})
    assert list(repeated) == [1.5, 2, 1.5, 2] and list(doubled_) == [3, 4] and first == 1.5


NO_ARRAYS = each("[a, x]; [[1], [1, 2]]; [a] * k; [a] < [b]; [a] == [b]; (a, b) * z; ([a], x)[k]; [x, [a, b]]")


@pytest.mark.parametrize("text", NO_ARRAYS)
def test_lists_that_are_no_arrays(text: str) -> None:
    with pytest.raises(Unsupported, match="list"):
        ours(text, a=1.0, b=2, x=np.ones(2), k=1, z=np.array(2))


# documents' own values ---------------------------------------------------------------------------


PLAIN = [1, -1, 2.5, -0.0, True, False, [1, 2], [1, 2.5], [[1.0], [2.0]], [], [[]], [True, False], [True, 2], [1e400]]
TEXTS = each("5; -3; +3; 1_000; 1e5; .5; 5.; inf; -inf; nan; Infinity; -0.0; \u0663; 1e400")


@pytest.mark.parametrize("plain", [*PLAIN, *TEXTS, " 5 ", "\t5\n", 10**17, 2**63 - 1, 2**63, 2**64 - 1, -(2**63)])
def test_plain_values(plain: Any) -> None:
    expected, made = theirs(plain), ours(plain)
    assert made.dtype == np.asarray(expected).dtype
    assert_same(made, np.asarray(expected))


@pytest.mark.parametrize(
    "plain",
    [None, b"5", [1, "a"], ["a"], [None], [[1], [1, 2]], [1, [2]], [{}], *each("five; a b; 1 2; --; x.y")],
)
def test_plain_values_that_are_none(plain: Any) -> None:
    with pytest.raises(InvalidModel, match="here"):
        ours(plain)


@pytest.mark.parametrize("plain", [2**64, -(2**63) - 1, 10**30, "9" * 30, [2**64], [2**63]])
def test_integers_of_more_than_64_bits(plain: Any) -> None:
    with pytest.raises(Unsupported, match="bits"):
        ours(plain)


def test_names_need_not_be_identifiers() -> None:
    for name in ("/A/Add", "a.b", "1", "x y", "lambda", "numpy", "'"):
        assert_same(ours(name, **{name: np.array([1.0, 2.0])}), np.array([1.0, 2.0]))


def test_an_unknown_name_is_told() -> None:
    with pytest.raises(InvalidModel, match="here: 'gain' is unknown"):
        ours("gain * x", x=1.0)


# subscripts --------------------------------------------------------------------------------------

SUBSCRIPTS = each(
    """
    x[0]; x[-1]; x[2]; x[-3]; x[k]; x[-k]; x[k-3]; x[z]; x[1:]; x[:-1]; x[::2]; x[::-1]; x[-1::-1]; x[5:]; x[-9:9]
    x[-9::-1]; x[-9:-9:-2]; x[2:1]; x[:]; x[...]; x[None]; x[:,None]; x[None,...,None]; x[[0,2]]; x[i]; x[[]]
    x[[[0,1],[1,2]]]; x[n+0]
    x[[True,False,True]]; x[True*1]; x[int(2.5)]; x[4//2]; x[q]; x[i][k]; (x*2)[1:]; numpy.exp(x)[0]; x[1:][0]
    M[0]; M[-1]; M[0,1]; M[k,-1]; M[k][k]; M[:,0]; M[0,:]; M[:,1:]; M[1,::-1]; M[::-1,::2]; M[...,0]; M[0,...]
    M[...,None]; M[:,k]; M[i]; M[:,i]; M[0,i]; M[i,0]; M[i,:]; M[None,0]; M[0,None,1]; M[:,[0]]; M[[0]]; M[(0,1)]
    M[0,1:2]; M[1:,1:]; M[2:]; M[:,:,]; T[0,1,2]; T[0,:,2]; T[:,0]; T[...,k]; T[k,...,k]; T[:,k,:]; T[:,i]; T[1,:,::2]
    T[::-1,...,1:]; T[0,0,i]; T[:,1,i]; T[i,1,1]; z[...]; z[None]; f[...]; e[:]; e[None]; e[[]]; e[1:]; len(x[1:])
    x[x.size-1]; x[M.shape[0]]; M.shape[-1]; M.shape[:1]; [x,x][1][0]
    """
)
ARRAYS: dict[str, Any] = {
    "x": np.array([1.5, -2.0, 7.0]),
    "M": np.arange(6.0).reshape(2, 3),
    "T": np.arange(24).reshape(2, 3, 4),
    "z": np.array(1),
    "f": np.array(2.5),
    "e": np.zeros(0),
    "i": np.array([1, 0, 1]),
    "k": 1,
    "n": 2,
    "q": np.array([True, False, True]),
}


@pytest.mark.parametrize("text", SUBSCRIPTS)
def test_subscripts(text: str) -> None:
    used = {name: value for name, value in ARRAYS.items() if name in text.replace("len", "").replace("size", "")}
    expected = theirs(text, **used)
    for constant in (False, True):
        if text == "x[q]" and not constant:
            with pytest.raises(Unsupported, match="known only at run time"):
                ours(text, constant, **used)
        else:
            assert_same(ours(text, constant, **used), expected, 0, (text, constant))


OUT_OF_PLACE = each(
    """
    x[3]; x[-4]; x[0,0]; x[0.5]; x[f]; x[[0.5]]; x[...,...]; 2.5[0]; k[0]; x[[3]]; x[::0]; x['a']; [1,2][2]
    [1,2][0,0]; (1,)[1]; e[0]; e[k]; x[[True]]; x[1.5:]; M[0,0,0]; x[numpy]; [1][...]
    """
)


@pytest.mark.parametrize("text", OUT_OF_PLACE)
def test_subscripts_out_of_place(text: str) -> None:
    with pytest.raises(InvalidModel, match="here"):
        ours(text, **ARRAYS)
    with pytest.raises(Exception):  # noqa: B017 (whatever the engine says)
        theirs(text, **ARRAYS)


@pytest.mark.parametrize("text", each("x[k:]; x[:n]; M[i,i]; T[i,:,i]; T[0,:,i]; x[x > 0]; x[True]; T[i][q]"))
def test_subscripts_that_only_running_shows(text: str) -> None:
    with pytest.raises(Unsupported, match="here"):
        ours(text, **ARRAYS)


def test_a_whole_float_of_python_is_an_index() -> None:
    """The engine has made an integer of it by then."""
    assert_same(ours("x[k]", x=ARRAYS["x"], k=2.0), 7.0 * np.ones(()))
    assert_same(ours("x[k]", True, x=ARRAYS["x"], k=2.0), 7.0 * np.ones(()))
