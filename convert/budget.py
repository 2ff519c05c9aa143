"""What a verification may cost where nobody says otherwise."""

TRIALS = 64
"""Sets of inputs for `verify` and `convert`: faults that few inputs reveal need about so many."""

TIMEOUT = 20.0
"""Seconds that a runtime may take for one set of inputs."""

LIMIT = 1800.0
"""Seconds for one of many models."""
