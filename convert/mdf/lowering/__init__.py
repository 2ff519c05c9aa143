"""The hub -> a native MDF model, which MDF's own engine runs: stateful parameters and a ConditionSet."""

from .to_native_mdf import STYLE, lower_stateful

__all__ = ["STYLE", "lower_stateful"]
