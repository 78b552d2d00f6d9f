"""The training loop, its state, and checkpoints that resume bit for bit."""

from augerino.training.loop import fit, iter_epochs
from augerino.training.optimizer import cosine_schedule, param_groups

__all__ = ["cosine_schedule", "fit", "iter_epochs", "param_groups"]
