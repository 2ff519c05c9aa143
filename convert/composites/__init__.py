"""Operators that targets lack, said in the hub's others; every lowering may put them in their place."""

from .walk import composed

__all__ = ["composed"]
