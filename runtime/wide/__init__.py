"""A hub graph computed more exactly than it says, and with rounding errors drawn at random.

    wide = WideModel(graph)
    wide.exact({"x": x})          # every float in float64 (float64 in longdouble): what the model means
    wide.noisy({"x": x}, seed=1)  # the same, each inexact result off by about as much as a runtime would round it

How far the noisy runs lie from the exact one is how far rounding may carry each element of the outputs.
"""

from .model import WideModel
from .spread import flat, spread

__all__ = ["WideModel", "flat", "spread"]
