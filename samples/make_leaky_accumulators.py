"""Three leaky accumulators that compete until one of them is sure, as a native MDF model (Usher and McClelland, 2001).

The evidence comes in once and is held; each pass adds it to the accumulators, which leak and inhibit one another and
never fall below zero; the graph terminates when the highest reaches the threshold, or after so many passes that it
never will. So the loop is a ConditionSet.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from _common import destination

LEAK, INHIBITION, STEP, THRESHOLD, PATIENCE = 0.2, 0.4, 0.1, 1.0, 200


def model() -> dict[str, Any]:
    evidence = {
        "input_ports": {"evidence": {"shape": [3], "type": "float64", "default_value": [1.0, 0.9, 0.8]}},
        "parameters": {"held": {"default_initial_value": "evidence", "value": "held"}},
        "output_ports": {"out": {"value": "held"}},
    }
    accumulators = {
        "input_ports": {"arriving": {"shape": [3]}},
        "parameters": {
            "leak": {"value": LEAK},
            "inhibition": {"value": INHIBITION},
            "step": {"value": STEP},
            "passes": {"default_initial_value": 0, "value": "passes + 1"},
            "activity": {
                "default_initial_value": [0.0, 0.0, 0.0],
                "value": "numpy.maximum(activity + step * (arriving - leak * activity"
                " - inhibition * (numpy.sum(activity) - activity)), 0.0)",
            },
            "highest": {"default_initial_value": 0.0, "value": "numpy.max(activity)"},
        },
        "output_ports": {
            "activities": {"value": "activity"},
            "winner": {"value": "numpy.argmax(activity)"},
            "decided_after": {"value": "passes"},
        },
    }
    sure = {"dependency": "accumulators", "parameter": "highest", "threshold": THRESHOLD, "comparator": ">="}
    decided = {"type": "Threshold", "kwargs": sure}
    given_up = {"type": "AfterNPasses", "kwargs": {"n": PATIENCE}}
    graph = {
        "nodes": {"stimulus": evidence, "accumulators": accumulators},
        "edges": {
            "arrival": {
                "sender": "stimulus",
                "sender_port": "out",
                "receiver": "accumulators",
                "receiver_port": "arriving",
            }
        },
        "conditions": {
            "termination": {"environment_state_update": {"type": "Any", "kwargs": {"args": [decided, given_up]}}}
        },
    }
    content = {
        "format": "ModECI MDF v0.4",
        "generating_application": "backedge samples",
        "graphs": {"competition": graph},
    }
    return {"leaky_accumulators": content}


if __name__ == "__main__":
    path = destination(__file__) / f"{Path(__file__).stem.removeprefix('make_')}.json"
    path.write_text(json.dumps(model(), indent=2) + "\n")
