"""Fourier transforms, also of short times."""

from .building import f32, floats, i32, i64, node, table

WINDOW = f32(0.5, 1, 2, 1.5)


def transform(name, kind, opset, shape, *rest):
    return (f"{kind.lower()}_{name}", [floats(*shape)], lambda x: node(kind, opset, x, *rest))


def stft(name, shape, window, size, step, transpose):
    return (
        f"stft_{name}_{transpose}",
        [floats(*shape)],
        lambda x: node("STFT", 15, x, window, size, step, transpose_frames=transpose),
    )


def istft(name, shape, window, size, step, *length, center=False, normalized=False):
    return (
        f"istft_{name}_{center}_{normalized}",
        [floats(*shape)],
        lambda x: node("ISTFT", 16, x, window, size, step, *length, center=center, normalized=normalized),
    )


CASES = table(
    [
        *[
            case
            for kind in ("DFT", "IDFT")
            for case in (
                transform("all", kind, 7, (2, 3, 4, 2), i64([0, 1, 2])),
                transform("negative", kind, 7, (2, 3, 4, 2), i32([-1, -3])),
                transform("shorter", kind, 7, (6, 5, 2), i64([0, 1]), i64([4, 3])),
                transform("longer", kind, 7, (3, 4, 2), i64([-2, -1]), i64([5, 7])),
                transform("part", kind, 7, (3, 4, 2), i64([1, 0]), i64([-1, 2])),
                transform("one", kind, 7, (1, 3, 2), i64([0])),
            )
        ],
        transform("all", "RDFT", 9, (2, 3, 4), i64([0, 1, 2])),
        transform("negative", "RDFT", 9, (2, 3, 4), i64([-1, 0])),
        transform("shorter", "RDFT", 9, (3, 6), i64([-2, -1]), i64([2, 3])),
        transform("one", "RDFT", 9, (3, 1), i64([1])),
        transform("all", "IRDFT", 9, (2, 3, 4, 2), i64([0, 1, 2])),
        transform("negative", "IRDFT", 9, (2, 3, 4, 2), i64([-1, -2])),
        transform("shorter", "IRDFT", 9, (3, 6, 2), i64([-2, -1]), i64([2, 5])),
        *[
            case
            for transpose in (False, True)
            for case in (
                stft("batch", (2, 13), floats(8), i64(8), i64(3), transpose),
                stft("single", (12,), floats(4), i32(4), i32(4), transpose),
                stft("window_short", (2, 12), floats(5), i64(8), i64(2), transpose),
                stft("odd", (2, 12), floats(4), i64(7), i64(2), transpose),
                stft("one_frame", (1, 9), floats(9), i64(9), i64(5), transpose),
            )
        ],
        (
            "stft_window_at_run_time",
            [floats(2, 13), floats(8)],
            lambda x, w: node("STFT", 15, x, w, i64(8), i64(3), transpose_frames=False),
        ),
        *[
            case
            for center in (False, True)
            for normalized in (False, True)
            for case in (
                istft("batch", (2, 5, 4, 2), floats(8), i64(8), i64(2), center=center, normalized=normalized),
                istft("single", (3, 4, 2), WINDOW, i32(4), i32(3), center=center, normalized=normalized),
                istft("longer", (1, 3, 4, 2), WINDOW, i64(4), i64(2), i64(15), center=center, normalized=normalized),
                istft("shorter", (1, 3, 4, 2), WINDOW, i64(4), i64(2), i64(5), center=center, normalized=normalized),
            )
        ],
        istft("window_short", (2, 5, 4, 2), WINDOW, i64(8), i64(2)),
        istft("odd", (1, 4, 3, 2), WINDOW, i64(7), i64(2), center=True),
        istft("gaps", (1, 3, 3, 2), WINDOW, i64(4), i64(6)),
        istft("window_zero", (1, 3, 3, 2), f32(0, 1, 1, 0), i64(4), i64(4)),
        (
            "istft_length_at_run_time",
            [floats(1, 3, 4, 2), i64(12)],
            lambda x, n: node("ISTFT", 16, x, WINDOW, i64(4), i64(2), n, center=False, normalized=False),
            [(1, 3, 4, 2), ()],
        ),
    ]
)
