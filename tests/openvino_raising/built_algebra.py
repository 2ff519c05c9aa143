"""Linear algebra: inverses, einsum; the inverse of the error function."""

import numpy as np

from .building import f32, floats, node, table

REGULAR = floats(2, 4, 4) + 3 * np.eye(4, dtype=np.float32)
# the pivots have to be looked for
ZEROS_FIRST = f32([[0, 2, 0], [0, 0, 4], [5, 0, 0]], [[0, 1, 0], [1, 0, 0], [0, 0, 3]])


def inverse(name, x, **attributes):
    return (f"inverse_{name}", [x], lambda x: node("Inverse", 14, x, **attributes))


def einsum(name, equation, *given):
    return (f"einsum_{name}", list(given), lambda *x: node("Einsum", 7, *x, equation=equation))


CASES = table(
    [
        *[
            case
            for adjoint in (False, True)
            for case in (
                inverse(f"batch_{adjoint}", REGULAR, adjoint=adjoint),
                inverse(f"pivots_{adjoint}", ZEROS_FIRST, adjoint=adjoint),
                inverse(f"one_{adjoint}", f32([[-4]]), adjoint=adjoint),
                inverse(f"deep_{adjoint}", floats(2, 1, 3, 3), adjoint=adjoint),
            )
        ],
        inverse("default", REGULAR),
        inverse("f16", REGULAR.astype(np.float16), adjoint=False),
        ("erf_inv", [f32(0, 0.1, -0.5, 0.9, -0.996, 1, -1, 1.5, -2)], lambda x: node("ErfInv", 17, x)),
        ("erf_inv_many", [np.linspace(-0.996, 0.996, 41, dtype=np.float32)], lambda x: node("ErfInv", 17, x)),
        einsum("diagonal", "ii->i", floats(4, 4)),
        einsum("trace", "ii->", floats(4, 4)),
        einsum("implicit", "ij,jk", floats(2, 3), floats(3, 4, seed=1)),
        einsum("ellipsis", "a...b,b...->a...", floats(2, 3, 4), floats(4, 3, seed=1)),
        einsum("outer", "i,j->ji", floats(3), floats(2, seed=1)),
        einsum("sum", "ijk->j", floats(2, 3, 4)),
    ]
)
