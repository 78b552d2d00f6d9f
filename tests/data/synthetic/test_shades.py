"""Images with a known answer: contrast preserves the label, brightness does not."""

import torch

import augerino as ag
from augerino.data.synthetic.shades import MIDDLE, shades


def label(x):
    """The class of each image by its pixels, and whether all of them agree."""
    light = (x > MIDDLE).flatten(1)
    return light.any(dim=1).long(), light.all(dim=1) == light.any(dim=1)


def test_every_pixel_is_on_its_side_under_any_contrast():
    data = shades(200)
    for t in (-0.9, -0.3, 0.0, 0.3, 0.9):
        said, agreed = label(ag.Contrast()(data.x, torch.full((200, 1), t)))
        assert torch.equal(said, data.y) and agreed.all()


def test_brightness_brings_pictures_over_the_fainter_the_sooner():
    data = shades(1000)
    wrong = [
        int((label(ag.Brightness()(data.x, torch.full((1000, 1), t)))[0] != data.y).sum())
        for t in (0.0, 0.02, 0.04, 0.1)
    ]
    assert wrong[0] == 0 and wrong == sorted(wrong) and len(set(wrong)) == 4


def test_a_seed_repeats_and_classes_are_even():
    assert torch.equal(shades(50, seed=1).x, shades(50, seed=1).x) and not torch.equal(
        shades(50, seed=1).x, shades(50, seed=2).x
    )
    assert shades(50).y.bincount().tolist() == [25, 25] and shades(5, side=24).x.shape == (
        5,
        3,
        24,
        24,
    )
    assert shades(100).x.min() >= 0 and shades(100).x.max() <= 1
