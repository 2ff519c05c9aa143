"""Random valid models and programs, what our conversions make of them, and how far runtimes agree with that.

What NumPy's and the runtimes' libraries read from the environment has to stand there before they are imported.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ.setdefault("ALLOW_RELEASED_ONNX_OPSET_ONLY", "0")
