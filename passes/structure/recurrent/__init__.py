"""Loops that are an LSTM, GRU or RNN -> the operator: `FuseRecurrent`."""

from .fuse import FuseRecurrent

__all__ = ["FuseRecurrent"]
