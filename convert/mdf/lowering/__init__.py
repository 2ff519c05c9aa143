"""The hub -> a native MDF model, which MDF's own engine runs: stateful parameters and a ConditionSet."""

from ....runtime.oracles.mdf_names import STYLE
from .to_native_mdf import lower_stateful

__all__ = ["STYLE", "lower_stateful"]
