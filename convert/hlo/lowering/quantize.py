"""Hub -> HLO: quantization."""
