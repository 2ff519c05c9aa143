"""StableHLO -> Graph of dialect "hlo": the description that `runtime/oracles/mlir_module.py` makes of a module, read.

`reader.py` walks functions, blocks and regions; `operations.py` has a row for each operation; `integers.py` follows the
integers that sizes are computed with, so that dynamic operations become the ones of HLO with symbolic dimensions.
"""
