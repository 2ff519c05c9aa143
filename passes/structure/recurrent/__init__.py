"""Loops that are an LSTM, GRU or RNN -> the operator: `FuseRecurrent`."""

from .fuse import FuseRecurrent
from .match import Found

__all__ = ["Found", "FuseRecurrent"]
