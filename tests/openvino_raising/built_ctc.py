"""Connectionist temporal classification, beams."""

import numpy as np

from .building import f32, floats, i32, i64, node, outs, table

MASK = f32([[1, 1], [1, 1], [1, 0], [1, 1], [0, 0]])
# classes of which 1 and the last one come up again and again
LOGITS = np.eye(4, dtype=np.float32)[[[1, 1, 3, 1, 1, 2], [3, 0, 0, 0, 3, 0]]]
LABELS = i32([[1, 1, 2, 1, 0, 0], [0, 2, 0, 0, 1, 1]])


def decoder(name, opset_attributes, *blank, lengths=(6, 4), x=LOGITS, dtype=i32):
    return (
        f"decoder_{name}",
        [x, dtype(list(lengths))],
        lambda x, n: outs(node("CTCGreedyDecoderSeqLen", 6, x, n, *blank, **opset_attributes)),
    )


def loss(name, *blank, labels=LABELS, lengths=(4, 2), times=(6, 5), classes=4, dtype=np.int32, **attributes):
    return (
        f"loss_{name}",
        [floats(2, 6, classes), np.array(times, dtype), labels.astype(dtype), np.array(lengths, dtype)],
        lambda *x: node("CTCLoss", 4, *x, *blank, **attributes),
    )


def tree(name, ids, parents, lengths, end):
    kind = np.asarray(ids).dtype
    return (
        f"tree_{name}",
        [np.asarray(ids), np.asarray(parents, kind), np.asarray(lengths, kind)],
        lambda i, p, n: node("GatherTree", 1, i, p, n, np.array(end, kind)),
    )


IDS = i32([[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [1, 2, 3]], [[4, 9, 6], [7, 8, 9]], [[1, 2, 3], [9, 5, 6]]])
PARENTS = i32([[[0, 0, 0], [0, 0, 0]], [[0, 2, 1], [2, 0, 1]], [[1, 1, 2], [0, 2, 1]], [[2, 0, 1], [1, 2, 0]]])

CASES = table(
    [
        *[
            (
                f"decoder_1_{merge}",
                [floats(5, 2, 4), MASK],
                lambda x, m, merge=merge: node("CTCGreedyDecoder", 1, x, m, ctc_merge_repeated=merge),
            )
            for merge in (True, False)
        ],
        *[
            (
                f"decoder_1_repeated_{merge}",
                [np.ascontiguousarray(LOGITS.transpose(1, 0, 2)), np.ones((6, 2), np.float32)],
                lambda x, m, merge=merge: node("CTCGreedyDecoder", 1, x, m, ctc_merge_repeated=merge),
            )
            for merge in (True, False)
        ],
        *[
            decoder(
                f"6_{merge}_{types[0]}_{types[1]}",
                {"merge_repeated": merge, "classes_index_type": types[0], "sequence_length_type": types[1]},
            )
            for merge, types in ((True, ("i32", "i64")), (False, ("i64", "i32")))
        ],
        decoder("6_blank", {"merge_repeated": True}, i32([1])),
        decoder("6_blank_kept", {"merge_repeated": False}, i32([0])),
        decoder("6_i64", {"merge_repeated": True}, i64([2]), dtype=i64, lengths=(0, 6)),
        decoder("6_random", {"merge_repeated": True}, x=floats(2, 6, 3), lengths=(5, 6)),
        *[
            loss(
                f"{collapse}_{merge}_{unique}",
                preprocess_collapse_repeated=collapse,
                ctc_merge_repeated=merge,
                unique=unique,
            )
            for collapse in (False, True)
            for merge in (False, True)
            for unique in (False, True)
        ],
        loss("blank", i32(0), labels=LABELS + 1, ctc_merge_repeated=True),
        loss("blank_among_labels", i32(2), ctc_merge_repeated=False),
        loss("i64", i64(3), dtype=np.int64, ctc_merge_repeated=True),
        loss("impossible", lengths=(4, 4), times=(4, 4), ctc_merge_repeated=True),
        loss("one_label", lengths=(1, 1), times=(6, 1), ctc_merge_repeated=True),
        tree("i32", IDS, PARENTS, [4, 3], 9),
        tree("short", IDS, PARENTS, [2, 7], 9),
        tree("f32", IDS.astype(np.float32), PARENTS, [4, 4], 8),
    ]
)
