"""Small MDF models that MDF's own examples hold, as trees of plain values, to be written into any container."""

from __future__ import annotations

from typing import Any

_SIMPLE: dict[str, Any] = {
    "Simple": {
        "format": "ModECI MDF v0.4",
        "generating_application": "Python modeci-mdf v0.4.13",
        "graphs": {
            "simple_example": {
                "nodes": {
                    "input_node": {
                        "parameters": {"input_level": {"value": 0.5}},
                        "output_ports": {"out_port": {"value": "input_level"}},
                    },
                    "processing_node": {
                        "input_ports": {"input_port1": {}},
                        "parameters": {
                            "lin_slope": {"value": 0.5},
                            "lin_intercept": {"value": 0},
                            "log_gain": {"value": 3},
                            "linear_1": {
                                "function": "linear",
                                "args": {
                                    "variable0": "input_port1",
                                    "slope": "lin_slope",
                                    "intercept": "lin_intercept",
                                },
                            },
                            "logistic_1": {
                                "function": "logistic",
                                "args": {"variable0": "linear_1", "gain": "log_gain", "bias": 0, "offset": 0},
                            },
                        },
                        "output_ports": {"output_1": {"value": "logistic_1"}},
                    },
                },
                "edges": {
                    "input_edge": {
                        "sender": "input_node",
                        "receiver": "processing_node",
                        "sender_port": "out_port",
                        "receiver_port": "input_port1",
                        "parameters": {"weight": 0.55},
                    }
                },
            }
        },
    }
}

_ABCD: dict[str, Any] = {
    "ABCD": {
        "format": "ModECI MDF v0.4",
        "generating_application": "Python modeci-mdf v0.4.13",
        "graphs": {
            "abcd_example": {
                "nodes": {
                    "input0": {
                        "metadata": {"color": ".8 .8 .8"},
                        "parameters": {"input_level": {"value": 0.0}},
                        "output_ports": {"out_port": {"value": "input_level"}},
                    },
                    "A": {
                        "metadata": {"color": ".8 0 0"},
                        "input_ports": {"input_port1": {}},
                        "parameters": {
                            "slope": {"value": 1.1},
                            "intercept": {"value": 1.2},
                            "linear_func": {
                                "function": "linear",
                                "args": {"variable0": "input_port1", "slope": "slope", "intercept": "intercept"},
                            },
                        },
                        "output_ports": {"out_port": {"value": "linear_func"}},
                    },
                    "B": {
                        "metadata": {"color": "0 .8 0"},
                        "input_ports": {"input_port1": {}},
                        "parameters": {
                            "gain": {"value": 2.1},
                            "bias": {"value": 2.2},
                            "offset": {"value": 2.3},
                            "logistic_func": {
                                "function": "logistic",
                                "args": {
                                    "variable0": "input_port1",
                                    "gain": "gain",
                                    "bias": "bias",
                                    "offset": "offset",
                                },
                            },
                        },
                        "output_ports": {"out_port": {"value": "logistic_func"}},
                    },
                    "C": {
                        "metadata": {"color": "0 0 .8"},
                        "input_ports": {"input_port1": {"shape": [1]}},
                        "parameters": {
                            "scale": {"value": 3.1},
                            "rate": {"value": 3.2},
                            "bias": {"value": 3.3},
                            "offset": {"value": 3.4},
                            "exponential_func": {
                                "function": "exponential",
                                "args": {
                                    "variable0": "input_port1",
                                    "scale": "scale",
                                    "rate": "rate",
                                    "bias": "bias",
                                    "offset": "offset",
                                },
                            },
                        },
                        "output_ports": {"out_port": {"value": "exponential_func"}},
                    },
                    "D": {
                        "metadata": {"color": ".8 0 .8"},
                        "input_ports": {"input_port1": {"shape": [1]}},
                        "parameters": {
                            "scale": {"value": 4.0},
                            "sin_func": {"function": "sin", "args": {"variable0": "input_port1", "scale": "scale"}},
                        },
                        "output_ports": {"out_port": {"value": "sin_func"}},
                    },
                },
                "edges": {
                    "edge_input0_A": {
                        "sender": "input0",
                        "receiver": "A",
                        "sender_port": "out_port",
                        "receiver_port": "input_port1",
                    },
                    "edge_A_B": {
                        "sender": "A",
                        "receiver": "B",
                        "sender_port": "out_port",
                        "receiver_port": "input_port1",
                    },
                    "edge_B_C": {
                        "sender": "B",
                        "receiver": "C",
                        "sender_port": "out_port",
                        "receiver_port": "input_port1",
                    },
                    "edge_C_D": {
                        "sender": "C",
                        "receiver": "D",
                        "sender_port": "out_port",
                        "receiver_port": "input_port1",
                    },
                },
            }
        },
    }
}

_ARRAYS: dict[str, Any] = {
    "Arrays": {
        "format": "ModECI MDF v0.4",
        "generating_application": "Python modeci-mdf v0.4.13",
        "graphs": {
            "array_example": {
                "nodes": {
                    "input_node": {
                        "parameters": {"input_level": {"value": [[1, 2.0], [3, 4]]}},
                        "output_ports": {"out_port": {"value": "input_level"}},
                    },
                    "middle_node": {
                        "input_ports": {"input_port1": {"shape": [2, 2]}},
                        "parameters": {
                            "slope": {"value": 0.5},
                            "intercept": {"value": [[0.0, 1.0], [2.0, 2.0]]},
                            "linear_1": {
                                "function": "linear",
                                "args": {"variable0": "input_port1", "slope": "slope", "intercept": "intercept"},
                            },
                        },
                        "output_ports": {"output_1": {"value": "linear_1"}},
                    },
                },
                "edges": {
                    "input_edge": {
                        "sender": "input_node",
                        "receiver": "middle_node",
                        "sender_port": "out_port",
                        "receiver_port": "input_port1",
                        "parameters": {"weight": [[1, 0], [0, 1]]},
                    }
                },
            }
        },
    }
}

_THRESHOLD: dict[str, Any] = {
    "threshold_condition": {
        "format": "ModECI MDF v0.4",
        "generating_application": "Python modeci-mdf v0.4.13",
        "graphs": {
            "threshold_example": {
                "nodes": {
                    "A": {
                        "input_ports": {"input_port1": {"shape": [1]}},
                        "parameters": {"param_A": {"value": "param_A + 1", "default_initial_value": 0}},
                        "output_ports": {"output_1": {"value": "param_A"}},
                    }
                },
                "conditions": {
                    "termination": {
                        "environment_state_update": {
                            "type": "Threshold",
                            "kwargs": {"dependency": "A", "parameter": "param_A", "threshold": 5, "comparator": ">="},
                        }
                    }
                },
            }
        },
    }
}

_EVERYNCALLS: dict[str, Any] = {
    "everyncalls_condition": {
        "format": "ModECI MDF v0.4",
        "generating_application": "Python modeci-mdf v0.4.13",
        "graphs": {
            "everyncalls_example": {
                "nodes": {
                    "A": {
                        "input_ports": {"input_port1": {"shape": [1]}},
                        "parameters": {"param_A": {"value": "param_A + 1"}},
                        "output_ports": {"output_1": {"value": "input_port1"}},
                    },
                    "B": {
                        "input_ports": {"input_port1": {"shape": [1]}},
                        "parameters": {"param_B": {"value": "param_B + 1"}},
                        "output_ports": {"output_1": {"value": "input_port1"}},
                    },
                    "C": {
                        "input_ports": {"input_port1": {"shape": [1]}},
                        "parameters": {"param_C": {"value": "param_C + 1"}},
                        "output_ports": {"output_1": {"value": "input_port1"}},
                    },
                },
                "edges": {
                    "edge_A_B": {
                        "sender": "A",
                        "receiver": "B",
                        "sender_port": "output_1",
                        "receiver_port": "input_port1",
                    },
                    "edge_B_C": {
                        "sender": "B",
                        "receiver": "C",
                        "sender_port": "output_1",
                        "receiver_port": "input_port1",
                    },
                },
                "conditions": {
                    "node_specific": {
                        "A": {"type": "Always", "kwargs": {}},
                        "B": {"type": "EveryNCalls", "kwargs": {"dependencies": "A", "n": 2}},
                        "C": {"type": "EveryNCalls", "kwargs": {"dependencies": "B", "n": 3}},
                    }
                },
            }
        },
    }
}

_NEWTONCOOLINGMODEL: dict[str, Any] = {
    "NewtonCoolingModel": {
        "format": "ModECI MDF v0.4",
        "generating_application": "Python modeci-mdf v0.4.13",
        "graphs": {
            "cooling_process": {
                "nodes": {
                    "cool_node": {
                        "parameters": {
                            "cooling_coeff": {"value": 0.1},
                            "T_a": {"value": 20},
                            "T_curr": {"default_initial_value": 90, "time_derivative": "dT_dt"},
                            "dT_dt": {"value": "-cooling_coeff*(T_curr - T_a)", "default_initial_value": 0},
                        },
                        "output_ports": {"out_port": {"value": "T_curr"}, "out_port2": {"value": "dT_dt"}},
                    }
                }
            }
        },
    }
}

_STATES: dict[str, Any] = {
    "States": {
        "format": "ModECI MDF v0.4",
        "generating_application": "Python modeci-mdf v0.4.13",
        "graphs": {
            "state_example": {
                "nodes": {
                    "counter_node": {
                        "parameters": {"increment": {"value": 1}, "count": {"value": "count + increment"}},
                        "output_ports": {"out_port": {"value": "count"}},
                    },
                    "sine_node": {
                        "parameters": {
                            "amp": {"value": 3},
                            "period": {"value": 0.4},
                            "level": {"default_initial_value": 0, "time_derivative": "6.283185 * rate / period"},
                            "rate": {"default_initial_value": 1, "time_derivative": "-1 * 6.283185 * level / period"},
                        },
                        "output_ports": {"out_port": {"value": "amp * level"}},
                    },
                }
            }
        },
    }
}

_AB: dict[str, Any] = {
    "ONNX Model": {
        "format": "ModECI MDF v0.4",
        "generating_application": "Python modeci-mdf v0.4.13",
        "graphs": {
            "main_graph": {
                "nodes": {
                    "/A/Add": {
                        "input_ports": {"input": {"shape": [2, 3], "type": "float"}},
                        "parameters": {
                            "B": {"value": 1.0},
                            "/A/Add": {"function": "onnx::Add", "args": {"A": "input", "B": "B"}},
                        },
                        "output_ports": {"_A_Add_output_0": {"value": "/A/Add"}},
                    },
                    "/B/Mul": {
                        "input_ports": {"_A_Add_output_0": {"shape": [2, 3], "type": "float"}},
                        "parameters": {
                            "B": {"value": 5.0},
                            "/B/Mul": {"function": "onnx::Mul", "args": {"A": "_A_Add_output_0", "B": "B"}},
                        },
                        "output_ports": {"_4": {"value": "/B/Mul"}},
                    },
                },
                "edges": {
                    "/A/Add._A_Add_output_0_/B/Mul._A_Add_output_0": {
                        "sender": "/A/Add",
                        "receiver": "/B/Mul",
                        "sender_port": "_A_Add_output_0",
                        "receiver_port": "_A_Add_output_0",
                    }
                },
            }
        },
    }
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "Simple": _SIMPLE,
    "ABCD": _ABCD,
    "Arrays": _ARRAYS,
    "threshold": _THRESHOLD,
    "everyncalls": _EVERYNCALLS,
    "NewtonCoolingModel": _NEWTONCOOLINGMODEL,
    "States": _STATES,
    "ab": _AB,
}
"""By name; each is `{model id: model}`, the form that files hold."""


def graph_of(**fields: Any) -> dict[str, Any]:
    """A document whose only graph 'g' has these fields."""
    return {"m": {"graphs": {"g": fields}}}


def node_of(**fields: Any) -> dict[str, Any]:
    """A document whose only node 'A' has these fields."""
    return graph_of(nodes={"A": fields})
