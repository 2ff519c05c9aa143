"""Comparing two models by what they compute: designed inputs, tolerances, a verdict, a report.

    report = compare_sides(
        Side("m.onnx", [in_process("executor", run_a), on_file("onnxruntime", Path("m.onnx"))]),
        Side("m.xml", [in_process("executor", run_b), on_file("openvino", Path("m.xml"))]),
        design(signature_of(hub_graph), trials=64),
    )
    report.verdict  # "equal", "different" or "incomparable"

| question | module |
|---|---|
| What does a graph do with its inputs? | `input_roles`, from `operands` and `backwards` |
| Which inputs are tried? | `inputs` (plain ones), `edge_trials`, `combined`, `search` |
| Who is asked for answers? | `sides`, `runnables`, and `second_look` once more |
| Which answers are held against which? | `answers` |
| How far do two answers lie apart, and is that rounding? | `tolerance`; `rounding`, `rounding_tensors` |
| What follows for one trial, and for all? | `verdict`, `conclude` |
| What is told? | `record`, `report` |
"""
