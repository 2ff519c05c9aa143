"""A foreign MDF model -> the hub, as MDF's engine would run it."""
