"""The training loop, its state, and checkpoints that resume to the same bits."""

from augerino.training.loop import cosine_schedule, fit, param_groups, train

__all__ = ["cosine_schedule", "fit", "param_groups", "train"]
