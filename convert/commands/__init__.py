"""The commands of `backedge`, by what they are about."""
