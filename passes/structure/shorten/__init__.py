"""What a person would have written: `Shorten`."""

from .walk import Shorten

__all__ = ["Shorten"]
