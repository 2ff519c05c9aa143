"""The hub -> a function of JAX: lowered to HLO by rules that keep derivatives, and interpreted by `jax.lax`."""

from .function import JaxFunction

__all__ = ["JaxFunction"]
