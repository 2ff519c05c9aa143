"""Loops that are an LSTM, GRU or RNN -> the operator: `FuseRecurrent`. The way back is `passes.decompose.recurrent`."""

from .fuse import FuseRecurrent
from .match import Found

__all__ = ["Found", "FuseRecurrent"]
