"""Operators in terms of simpler ones of the hub: one function for each, by family; `library` finds it."""
