"""Matching: which values of two hub graphs are certain to be equal, bit for bit.

Both graphs are numbered together (`numbering`): values become hash-consed terms (`terms`), brought to a normal form by
rules that hold to the bit (`layout`, `elementwise`, ...); two values with the same term are one. Loops are matched
by induction over their passes (`loops`). `matching` puts it together.

Sources: Alpern, Wegman, Zadeck, "Detecting equality of variables in programs" (POPL 1988), for the partitions that are
refined from optimistic assumptions; Tristan, Govereau, Morrisett, "Evaluating value-graph translation validation for
LLVM" (PLDI 2011), for normalizing value graphs.
"""
