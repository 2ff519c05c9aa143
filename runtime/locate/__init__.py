"""Where two graphs part first on a set of inputs: the value, the pass of each loop on the way, the branch taken."""
