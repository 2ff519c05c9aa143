"""How far a verdict can be trusted: random models, faults put into them, pairs that are equal, and the sweep over all.

What NumPy's and the runtimes' libraries read from the environment has to stand there before they are imported.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
