"""What a verification may cost where nobody says otherwise."""

TRIALS = 64
"""Sets of inputs for `verify` and `convert`: faults that few inputs reveal need about so many."""

TIMEOUT = 20.0
"""Seconds that a runtime may take for one set of inputs."""

LIMIT = 1800.0
"""Seconds for one of many models."""

OWN = 60.0
"""Seconds of processor time for a stage of our own work."""

PROOF = 0.5
"""The part of its time and of the memory that is left which matching both files may take."""

SPARE = 5.0
"""Seconds that a stage of our own work may take beside a runtime's limit that somebody sets: for what it imports."""
