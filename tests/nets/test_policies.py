"""Published policies: complete tables, operations that keep the form of an image, equal draws."""

import json
import random

import numpy as np
import pytest
import torch
from PIL import Image

from augerino.errors import InputError
from augerino.nets.policies.operations import OPERATIONS, apply
from augerino.nets.policies.published import POLICIES, PublishedPolicy
from augerino.nets.policies.tables import (
    AUTO_AUGMENT,
    FOURTEEN,
    USUAL,
    WIDE,
    fast_auto_augment,
    rand_augment,
    trivial_augment,
)
from tests.conftest import need
from tests.data.published.test_real import SHARED, real

# A value at which every operation changes an image.
VALUES = {
    "ShearX": 0.2,
    "ShearY": -0.2,
    "TranslateX": 0.25,
    "TranslateY": -0.25,
    "Rotate": 20,
    "Brightness": 0.5,
    "Color": 0.2,
    "Contrast": 1.6,
    "Sharpness": 0.1,
    "Posterize": 3,
    "Solarize": 100,
    "AutoContrast": 0,
    "Equalize": 0,
    "Invert": 0,
    "Cutout": 0.4,
}
WITHOUT_STRENGTH = ("AutoContrast", "Equalize")


def picture(mode="RGB", side=32):
    """Colored noise of low contrast over a gradient."""
    noise = np.random.default_rng(0).integers(60, 160, (side, side, 3))
    pixels = (noise + np.arange(side)[:, None, None]).astype(np.uint8)
    return Image.fromarray(pixels).convert(mode)


@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("name", VALUES)
def test_an_operation_changes_an_image_and_keeps_its_form(name, mode):
    image = picture(mode)
    before = np.asarray(image).copy()
    moved = apply(name, image, VALUES[name], random.Random(3))
    assert moved.size == image.size and moved.mode == mode
    assert np.array_equal(np.asarray(image), before)  # the input is not changed
    is_changed = not np.array_equal(np.asarray(moved), before)
    assert is_changed == (mode == "RGB" or name != "Color")  # grey has no saturation


@pytest.mark.parametrize("space", [USUAL, WIDE], ids=["usual", "wide"])
@pytest.mark.parametrize("name", [name for name in FOURTEEN if name not in WITHOUT_STRENGTH])
def test_no_strength_is_no_change_and_both_signs_occur(name, space):
    image = picture()
    rng = random.Random(0)
    still = OPERATIONS[name](image, space.value(name, 0.0, rng))
    assert np.array_equal(np.asarray(still), np.asarray(image))
    values = {round(space.value(name, 1.0, rng), 9) for _ in range(50)}
    one_sided = name in ("Identity", "Posterize", "Solarize")
    assert len(values) == (1 if one_sided else 2)


def test_the_tables_are_complete():
    assert len(AUTO_AUGMENT) == 25 and len(FOURTEEN) == len(set(FOURTEEN)) == 14
    steps = [step for pair in AUTO_AUGMENT for step in pair]
    assert all(name in OPERATIONS and 0 <= p <= 1 and 0 <= s <= 9 for name, p, s in steps)
    rng = random.Random(0)
    assert {len(rand_augment(rng)) for _ in range(20)} == {2}
    assert {name for _ in range(500) for name, _ in trivial_augment(rng)} == set(FOURTEEN)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", POLICIES)
class TestLayer:
    def test_images_stay_images_and_change_each_on_its_own(self, name, channels):
        x = torch.rand(1, channels, 32, 32).repeat(40, 1, 1, 1)
        found = PublishedPolicy(name)(x)
        assert found.shape == x.shape and found.dtype == x.dtype
        assert found.min() >= 0 and found.max() <= 1
        assert len({image.numpy().tobytes() for image in found}) > 10

    def test_it_acts_in_training_only_and_repeats_with_a_seed(self, name, channels):
        policy, x = PublishedPolicy(name), torch.rand(8, channels, 32, 32)
        torch.manual_seed(1)
        first = policy(x)
        torch.manual_seed(1)
        assert torch.equal(policy(x), first)
        assert policy.eval()(x) is x


def test_wrong_names_and_shapes_are_rejected():
    with pytest.raises(InputError, match=r"no policy 'Rand'\. There are: AutoAugment, RandAug"):
        PublishedPolicy("Rand")
    with pytest.raises(InputError, match=r"needs images with 1 or 3 channels"):
        PublishedPolicy("RandAugment")(torch.rand(2, 4, 8, 8))


class TestFastAutoAugment:
    def test_levels_span_their_ranges(self):
        pairs = [[["Brightness", 1.0, 0.5], ["ShearX", 1.0, 1.0]]]
        rng = random.Random(0)
        draws = [fast_auto_augment(pairs)(rng) for _ in range(30)]
        values = {(name, round(value, 9)) for draw in draws for name, value in draw}
        assert values == {("Brightness", 1.0), ("ShearX", 0.3), ("ShearX", -0.3)}

    def test_probabilities_are_followed(self):
        draw = fast_auto_augment([[["Invert", 0.25, 0.5], ["Equalize", 0.0, 0.5]]])
        rng = random.Random(0)
        counts = [len(draw(rng)) for _ in range(2000)]
        assert max(counts) == 1 and sum(counts) / 2000 == pytest.approx(0.25, abs=0.04)

    @pytest.mark.parametrize(
        "policy", [[], [[["Twist", 0.5, 0.5]]], [[["Rotate", 1.5, 0.5]]], [["Rotate"]], [3], "x"]
    )
    def test_wrong_policies_are_rejected(self, policy, tmp_path):
        path = tmp_path / "policy.json"
        path.write_text(json.dumps({"policy": policy}))
        with pytest.raises(InputError, match="Fast AutoAugment"):
            PublishedPolicy.from_file(path)

    def test_unreadable_files_are_rejected(self, tmp_path):
        (tmp_path / "a.json").write_text("{}")
        for name in ("a.json", "b.json"):
            with pytest.raises(InputError, match=r"JSON with a key 'policy'"):
                PublishedPolicy.from_file(tmp_path / name)

    @real("fast_autoaugment_cifar10.json")
    def test_the_published_file_is_read(self):
        policy = PublishedPolicy.from_file(SHARED / "fast_autoaugment_cifar10.json")
        x = torch.rand(1, 3, 32, 32).repeat(60, 1, 1, 1)
        found = policy(x)
        assert found.shape == x.shape and len({image.numpy().tobytes() for image in found}) > 20


@pytest.mark.extras
def test_operations_and_tables_agree_with_torchvision():
    need("torchvision")
    from torchvision.transforms import InterpolationMode, autoaugment

    class Sign:
        def __init__(self, sign):
            self.sign = sign

        def choice(self, _):
            return self.sign

    library = autoaugment.AutoAugment(autoaugment.AutoAugmentPolicy.CIFAR10)
    for theirs, ours in zip(library.policies, AUTO_AUGMENT, strict=True):
        assert [step[:2] for step in theirs] == [step[:2] for step in ours]
        for (_, _, strength), (_, _, mine) in zip(theirs, ours, strict=True):
            assert strength in (None, mine)
    spaces = (
        (library._augmentation_space(10, (32, 32)), USUAL),
        (autoaugment.RandAugment()._augmentation_space(31, (32, 32)), USUAL),
        (autoaugment.TrivialAugmentWide()._augmentation_space(31), WIDE),
    )
    image = picture()
    for space, mine in spaces:
        for name, (magnitudes, signed) in space.items():
            for k in range(len(magnitudes) if magnitudes.ndim else 1):
                strength = k / (len(magnitudes) - 1) if magnitudes.ndim else 0.0
                magnitude = float(magnitudes[k]) if magnitudes.ndim else 0.0
                if name.startswith("Translate") and abs(magnitude - round(magnitude)) < 1e-5:
                    continue  # float32 puts it on the other side of a whole pixel
                for sign in (-1, 1):
                    value = magnitude * sign if signed else magnitude
                    theirs = autoaugment._apply_op(
                        image, name, value, interpolation=InterpolationMode.NEAREST, fill=None
                    )
                    ours = OPERATIONS[name](image, mine.value(name, strength, Sign(sign)))
                    gap = np.asarray(theirs).astype(int) - np.asarray(ours).astype(int)
                    assert np.abs(gap).max() <= 1, (name, k, sign)
