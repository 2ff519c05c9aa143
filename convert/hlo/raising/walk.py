"""HLO -> the hub: every rule, and the walk that applies them."""
