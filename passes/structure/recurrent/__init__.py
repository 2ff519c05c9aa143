"""Loops that are an LSTM, GRU or RNN -> the operator: `FuseRecurrent`; and back: `ExpandRecurrent`."""

from .expand import ExpandRecurrent, written_out
from .fuse import FuseRecurrent
from .match import Found

__all__ = ["ExpandRecurrent", "Found", "FuseRecurrent", "written_out"]
