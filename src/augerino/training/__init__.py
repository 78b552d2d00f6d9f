"""The training loop, its state, and checkpoints that resume to the same bits."""

from augerino.training.loop import cosine_schedule, fit, iter_epochs, param_groups

__all__ = ["cosine_schedule", "fit", "iter_epochs", "param_groups"]
