"""Recurrent layers and Fourier transforms."""

from .building import floats, i32, i64, node, table

HIDDEN, INPUT = 3, 2
ACTIVATIONS = {"LSTM": ["sigmoid", "tanh", "tanh"], "GRU": ["sigmoid", "tanh"], "RNN": ["tanh"]}


def outs(made):
    return [made.output(place) for place in range(made.get_output_size())]


def sequence(name, kind, direction="forward", lengths=(4, 4), gates=None, bias=None, **attributes):
    gates = gates or {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    ways = 2 if direction == "bidirectional" else 1
    states = 2 if kind == "LSTM" else 1
    attributes.setdefault("activations", ACTIVATIONS[kind])

    def build(x, *given):
        return outs(
            node(
                f"{kind}Sequence",
                5,
                x,
                *given,
                *([] if lengths is None else [i32(list(lengths))]),
                floats(ways, gates * HIDDEN, INPUT, seed=5, scale=0.5),
                floats(ways, gates * HIDDEN, HIDDEN, seed=6, scale=0.5),
                floats(ways, (bias or gates) * HIDDEN, seed=7, scale=0.5),
                hidden_size=HIDDEN,
                direction=direction,
                **attributes,
            )
        )

    return (
        f"{kind.lower()}_sequence_{name}",
        [floats(2, 4, INPUT), *(floats(2, ways, HIDDEN, seed=1 + place) for place in range(states))],
        build,
    )


def cell(name, kind, opset, bias=None, gates=None, **attributes):
    gates = gates or {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    states = 2 if kind == "LSTM" else 1

    def build(x, *given):
        return outs(
            node(
                f"{kind}Cell",
                opset,
                x,
                *given,
                floats(gates * HIDDEN, INPUT, seed=5, scale=0.5),
                floats(gates * HIDDEN, HIDDEN, seed=6, scale=0.5),
                floats((bias or gates) * HIDDEN, seed=7, scale=0.5),
                hidden_size=HIDDEN,
                **attributes,
            )
        )

    return (
        f"{kind.lower()}_cell_{name}",
        [floats(2, INPUT), *(floats(2, HIDDEN, seed=1 + place) for place in range(states))],
        build,
    )


def at_run_time(kind, direction):
    """Lengths that are an input, one of them 0."""
    name, arrays, build = sequence(f"given_{direction}", kind, direction, lengths=None)
    return (name, [*arrays, i32(0, 3)], build)


CASES = table(
    [
        *[
            sequence(f"{way}", kind, way)
            for kind in ("LSTM", "GRU", "RNN")
            for way in ("forward", "reverse", "bidirectional")
        ],
        *[
            sequence(f"{way}_lengths", kind, way, lengths=(2, 4))
            for kind in ("LSTM", "GRU", "RNN")
            for way in ("forward", "reverse", "bidirectional")
        ],
        sequence("linear_before_reset", "GRU", linear_before_reset=True, bias=4),
        sequence("linear_before_reset_bidirectional", "GRU", "bidirectional", linear_before_reset=True, bias=4),
        sequence("relu", "RNN", activations=["relu"]),
        sequence("sigmoid", "RNN", activations=["sigmoid"]),
        cell("4", "LSTM", 4),
        cell("1_ifco", "LSTM", 1, weights_format="ifco"),
        cell("1_fico", "LSTM", 1, weights_format="fico"),
        cell("3", "GRU", 3),
        cell("linear", "GRU", 3, bias=4, linear_before_reset=True),
        cell("1", "RNN", 1),
        cell("clip", "LSTM", 4, clip=0.2),
        *[cell("clipped", kind, opset, clip=0.3) for kind, opset in (("GRU", 3), ("RNN", 1))],
        cell("clipped_linear", "GRU", 3, bias=4, linear_before_reset=True, clip=0.3),
        *[sequence("clipped", kind, clip=0.3) for kind in ("LSTM", "GRU", "RNN")],
        sequence("clipped_both", "LSTM", "bidirectional", lengths=(3, 1), clip=0.3),
        cell("functions", "LSTM", 4, activations=["tanh", "relu", "sigmoid"]),
        cell("functions", "GRU", 3, activations=["relu", "sigmoid"]),
        *[cell(f"{one}", "RNN", 1, activations=[one]) for one in ("relu", "sigmoid", "tanh")],
        sequence("functions", "LSTM", "bidirectional", activations=["relu", "sigmoid", "relu"]),
        sequence("functions", "GRU", "reverse", lengths=(1, 3), activations=["tanh", "relu"]),
        sequence("functions", "RNN", "bidirectional", lengths=(3, 2), activations=["relu"]),
        *[
            at_run_time(kind, direction)
            for kind in ("LSTM", "GRU", "RNN")
            for direction in ("forward", "reverse", "bidirectional")
        ],
        ("dft", [floats(3, 4, 2)], lambda x: node("DFT", 7, x, i64([1]))),
        ("dft_two", [floats(3, 4, 5, 2)], lambda x: node("DFT", 7, x, i64([-1, 0]))),
        ("dft_sizes", [floats(3, 4, 2)], lambda x: node("DFT", 7, x, i64([0, 1]), i64([5, -1]))),
        ("dft_axis_computed", [floats(3, 4, 2), i64([-1])], lambda x, a: node("DFT", 7, x, a)),
        ("dft_axes_computed", [floats(3, 4, 2), i64([-1, 0])], lambda x, a: node("DFT", 7, x, a, i64([-1, 5]))),
        ("idft_axes_computed", [floats(3, 4, 2), i64([0, 1])], lambda x, a: node("IDFT", 7, x, a)),
        ("idft", [floats(3, 4, 2)], lambda x: node("IDFT", 7, x, i64([0, 1]), i64([-1, 3]))),
        ("rdft", [floats(3, 5)], lambda x: node("RDFT", 9, x, i64([1]))),
        ("rdft_two", [floats(3, 4, 5)], lambda x: node("RDFT", 9, x, i64([2, 1]))),
        ("rdft_sizes", [floats(3, 5)], lambda x: node("RDFT", 9, x, i64([0, 1]), i64([2, 4]))),
        ("irdft", [floats(3, 4, 2)], lambda x: node("IRDFT", 9, x, i64([1]))),
        ("irdft_odd", [floats(3, 4, 2)], lambda x: node("IRDFT", 9, x, i64([1]), i64([7]))),
        ("irdft_two", [floats(3, 4, 5, 2)], lambda x: node("IRDFT", 9, x, i64([0, 2]))),
        ("irdft_short", [floats(3, 4, 2)], lambda x: node("IRDFT", 9, x, i64([-1]), i64([4]))),
        ("dft_dynamic", [floats(3, 4, 2)], lambda x: node("DFT", 7, x, i64([0, 1])), [(-1, -1, 2)]),
        ("irdft_dynamic", [floats(3, 4, 2)], lambda x: node("IRDFT", 9, x, i64([1])), [(-1, -1, 2)]),
    ]
)
