"""How the variables of a stateful model (OpenVINO's ReadValue and Assign) appear among inputs and outputs.

A variable is an optional input (its value before the run; left out, the model's own initial value) and
an output (its value after the run). Both names come from the variable's id, and they must differ,
because a graph names every value once.

Where the initial value is computed from the model's inputs, there is a second optional input, bool []: the variable's
value counts if it is fed with true, else the model computes it.
"""

from __future__ import annotations

NEXT_STATE_SUFFIX = ".next"
GIVEN_STATE_SUFFIX = ".given"


def state_input_name(variable_id: str) -> str:
    """The input that is a variable's value before the run: the id itself."""
    return variable_id


def state_output_name(variable_id: str) -> str:
    """The output that is a variable's value after the run: the id and `NEXT_STATE_SUFFIX`."""
    return variable_id + NEXT_STATE_SUFFIX


def state_given_name(variable_id: str) -> str:
    """The input that says whether a variable's value is fed: the id and `GIVEN_STATE_SUFFIX`."""
    return variable_id + GIVEN_STATE_SUFFIX
