"""HLO text: `parse` to a tree, `print_module` back to text."""

from .parser import parse
from .printer import print_module

__all__ = ["parse", "print_module"]
