"""`Shorten`: the model as a person would have written it."""

from .traversal import Shorten

__all__ = ["Shorten"]
