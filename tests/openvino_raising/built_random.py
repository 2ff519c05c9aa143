"""Random numbers where the case leaves them no choice."""

import numpy as np

from .building import f32, i32, i64, node, table

SURE = f32([[0, 0, 1], [0.5, 0, 0], [0, 7, 0]])


def multinomial(name, probabilities, count, **attributes):
    return (
        f"multinomial_{name}",
        [probabilities],
        lambda x: node(
            "Multinomial", 13, x, count, **{"convert_type": "i64", "global_seed": 1, "op_seed": 2, **attributes}
        ),
    )


def uniform(name, shape, low, high, kind, **attributes):
    return (
        f"uniform_{name}",
        [shape],
        lambda s: node("RandomUniform", 8, s, low, high, output_type=kind, **attributes),
        [(len(shape),)],
    )


with np.errstate(divide="ignore"):
    LOGS = np.log(SURE)

CASES = table(
    [
        multinomial("sure", SURE, i32([4]), with_replacement=True, log_probs=False),
        multinomial("logs", LOGS, i64([2]), with_replacement=True, log_probs=True, convert_type="i32"),
        multinomial("once", SURE, i32([1]), with_replacement=False, log_probs=False, convert_type="i32"),
        multinomial("once_logs", LOGS, i32([1]), with_replacement=False, log_probs=True),
        (
            "multinomial_count_at_run_time",
            [SURE, i32([5])],
            lambda x, n: node("Multinomial", 13, x, n, convert_type="i64", with_replacement=True, log_probs=False),
        ),
        uniform("whole", i64(2, 3), i32(4), i32(5), "i32", global_seed=3, op_seed=0),
        uniform("whole_i64", i32(2, 3), i64(-4), i64(-3), "i64", alignment="pytorch"),
        uniform("narrow", i64([5]), f32(1), f32(1.000001), "f32", alignment="tensorflow"),
    ]
)
