"""`Shorten`: the model as a person would have written it."""

from .walk import Shorten

__all__ = ["Shorten"]
