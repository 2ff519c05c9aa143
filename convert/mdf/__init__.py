"""ModECI MDF: documents, `onnx::` functions, native graphs with states and conditions."""
