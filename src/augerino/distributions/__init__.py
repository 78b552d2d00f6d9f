"""Distributions with learnable parameters.

Each is a module whose call returns a `torch.distributions` object.
"""

from augerino.distributions.base import LearnedDistribution
from augerino.distributions.bernoulli import Bernoulli
from augerino.distributions.box import Interval, Uniform
from augerino.distributions.gaussian import Gaussian
from augerino.distributions.haar import Haar
from augerino.distributions.product import Joint, Product, parts_of

__all__ = [
    "Bernoulli",
    "Gaussian",
    "Haar",
    "Interval",
    "Joint",
    "LearnedDistribution",
    "Product",
    "Uniform",
    "parts_of",
]
