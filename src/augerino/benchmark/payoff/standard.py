"""The usual fixed augmentation of each kind of data, and known symmetries."""

import math

from augerino.augmentation import Augmentation, Chain
from augerino.distributions import Bernoulli, Haar, LearnedDistribution, Uniform
from augerino.transforms import (
    Affine2d,
    Affine3d,
    Flip,
    Gain,
    NoiseLevel,
    On,
    PixelShift,
)

SHIFT = 1 / 8  # of photographs and faces, as a fraction of the side: 4 of 32 pixels


def flip_and_crop(side: int) -> Augmentation:
    """Photographs and faces: mirrored with probability 1/2, shifted by up to an eighth of the side.

    All whole pixels are equally likely, as for a random crop after padding with zeros.
    """
    pixels = max(1, round(SHIFT * side))
    bound = 2 * (pixels + 0.5) / side  # in halves of the image
    shift = Augmentation(PixelShift(), Uniform([bound, bound]))
    flip = Augmentation(Flip("horizontal"), Bernoulli([0.5]))
    return _fixed(Chain(flip, shift))


def shift_and_rotate() -> Augmentation:
    """Digits: shifted by up to 2 of 28 pixels and rotated by up to 15°, not mirrored."""
    pixels = 2 * 2 / 28
    transform = Affine2d("translate_x", "translate_y", "rotate")
    return _fixed(Augmentation(transform, Uniform([pixels, pixels, math.radians(15)])))


def jitter_and_gain() -> Augmentation:
    """Signals: noise up to 5 % of the standard deviation, gain up to 20 %.

    Jittering and scaling are the most used ones (Iwana and Uchida 2021).
    """
    gain = Augmentation(Gain(), Uniform([0.2]))
    noise = Augmentation(NoiseLevel(), Uniform([0.05]))
    return _fixed(Chain(gain, noise))


def turn_and_jitter() -> Augmentation:
    """Clouds: up to 45° about the vertical axis, 5 % scale and 2 % noise.

    As for scenes in which direction matters (Zhou and Tuzel 2018); full turns would destroy labels.
    """
    turn = Augmentation(Affine3d("rotate_z", "scale"), Uniform([math.pi / 4, 0.05]))
    noise = Augmentation(NoiseLevel(), Uniform([0.02]))
    return _fixed(Chain(turn, noise))


def rotations_in_space() -> Augmentation:
    """Molecules: uniform rotations about the mean of the atoms."""
    return _fixed(_on_positions(_rotations(), Haar()))


def rigid_motions(translate: float = 0.5) -> Augmentation:
    """Molecules: uniform rotations, then translations of up to `translate` angstrom."""
    axes = Affine3d("translate_x", "translate_y", "translate_z")
    rotations = _on_positions(_rotations(), Haar())
    return _fixed(Chain(rotations, _on_positions(axes, Uniform([translate] * 3))))


def full_rotation() -> Augmentation:
    """Rotated digits: any angle."""
    return _fixed(Augmentation(Affine2d("rotate"), Uniform([math.pi])))


def learned_affine() -> Augmentation:
    """Images: the paper's six generators, from equal extents."""
    return Augmentation(Affine2d(), Uniform([0.3] * 6))


def learned_in_space() -> Augmentation:
    """Molecules: the paper's nine generators, from equal extents."""
    return _on_positions(Affine3d(), Uniform([0.2] * 9))


def _rotations() -> Affine3d:
    return Affine3d("rotate_x", "rotate_y", "rotate_z")


def _on_positions(transform: Affine3d, distribution: LearnedDistribution) -> Augmentation:
    return Augmentation(On("positions", transform, where="mask"), distribution)


def _fixed(augmentation: Augmentation) -> Augmentation:
    return augmentation.requires_grad_(False)
