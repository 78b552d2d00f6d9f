"""A policy in words says what is done, how far and how often."""

import math

import pytest

import augerino as ag


def say(*augmentations, samples="images"):
    chain = ag.Chain(*augmentations)
    return ag.Policy.of(chain).sentence(samples)


def uniform(transform, *bounds, rate=1.0):
    return ag.Augmentation(transform, ag.Uniform(list(bounds), rate=rate))


def test_the_sentence_of_the_documentation():
    text = say(
        uniform(ag.PixelShift(), 0.25, 0.25),
        ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([0.5])),
        uniform(ag.Affine2d("rotate"), math.radians(9), rate=0.25),
        uniform(ag.Affine2d("shear"), 0.001),
    )
    assert text == (
        "shift by whole pixels up to 12.5 % of the image in every image; "
        "flip half of the images horizontally; rotate up to 9° in 1 of 4; never shear"
    )


def test_equal_axes_share_a_clause_and_others_do_not():
    shift = ag.Affine2d("translate_x", "translate_y")
    assert say(uniform(shift, 0.2, 0.2)) == "shift up to 10 % of the image in every image"
    assert say(uniform(shift, 0.2, 0.4)) == (
        "shift horizontally up to 10 % of the image and shift vertically up to 20 % of the image "
        "in every image"
    )
    assert say(uniform(shift, 0.2, 1e-4)) == (
        "shift horizontally up to 10 % of the image in every image; never shift vertically"
    )
    assert say(uniform(shift, 0.2, 0.2, rate=[1.0, 0.5])) == (
        "shift horizontally up to 10 % of the image in every image; "
        "shift vertically up to 10 % of the image in half of the images"
    )


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (1.0, "in every image"),
        (0.5, "in half of the images"),
        (0.25, "in 1 of 4"),
        (0.1, "in 1 of 10"),
        (43 / 256, "in 1 of 6"),
        (0.3, "in 30 % of the images"),
        (0.75, "in 75 % of the images"),
        (1 / 256, "in 1 of 256"),
    ],
)
def test_rates(rate, words):
    assert say(uniform(ag.Affine2d("rotate"), 0.5, rate=rate)).endswith(f"28.6° {words}")


@pytest.mark.parametrize(
    ("probability", "words"),
    [
        (0.5, "flip half of the images vertically"),
        (0.3, "flip 30 % of the images vertically"),
        (0.999, "flip every image vertically"),
        (0.001, "never flip vertically"),
    ],
)
def test_probabilities(probability, words):
    assert say(ag.Augmentation(ag.Flip("vertical"), ag.Bernoulli([probability]))) == words


def test_equal_rates_are_written_once_and_marked_as_independent():
    text = say(uniform(ag.Gamma(), 0.2, rate=0.125), uniform(ag.Hue(), math.pi, rate=0.125))
    assert (
        text == "change the gamma by ×0.82 to ×1.22 and turn the hue by any angle, each in 1 of 8"
    )


OPERATIONS = [
    (ag.Affine2d("rotate"), math.pi, "rotate by any angle"),
    (ag.Affine2d("scale"), 0.2, "scale by ×0.82 to ×1.22"),
    (ag.Brightness(), 0.1, "change the brightness by up to 10 % of full intensity"),
    (ag.Contrast(), 0.1, "change the contrast by ×0.82 to ×1.22"),
    (ag.Saturation(), 0.5, "change the saturation by ×0.50 to ×1.50"),
    (ag.Hue(), 0.5, "turn the hue up to 28.6°"),
    (ag.Sharpness(), 1.0, "change the sharpness by ×0.00 to ×2.00"),
    (ag.AutoContrast(), 0.5, "stretch the contrast with up to 50 % strength"),
    (ag.Equalize(), 0.5, "equalize with up to 50 % strength"),
    (ag.Solarize(), 0.3, "solarize up to 30 % of the tones"),
    (ag.Posterize(), 0.5, "posterize to as few as 32 levels"),
    (ag.PixelNoise(), 0.05, "add up to 5 % noise"),
    (ag.Erase(), 0.4, "erase squares of up to 40 % of the side"),
]


@pytest.mark.parametrize(("transform", "bound", "words"), OPERATIONS, ids=lambda v: str(v)[:12])
def test_every_operation_in_words(transform, bound, words):
    assert say(uniform(transform, bound)) == f"{words} in every image"


def test_greyscale_and_negligible_ranges_in_words():
    grey = ag.Augmentation(ag.Grayscale(), ag.Bernoulli([0.1]))
    assert say(grey) == "make 10 % of the images grey"
    never = say(
        uniform(ag.Erase(), 0.001),
        uniform(ag.PixelNoise(), 0.001),
        ag.Augmentation(ag.Grayscale(), ag.Bernoulli([0.001])),
        uniform(ag.Affine2d("squeeze"), 0.001),
    )
    assert never == "never erase squares, add noise, make grey or squeeze"


def test_signals_and_clouds():
    text = say(uniform(ag.TimeShift(), 0.1), uniform(ag.Gain(), 0.7, rate=0.3), samples="signals")
    assert text == (
        "shift in time up to 5 % of the signal in every signal; "
        "change the gain by ×0.50 to ×2.01 in 30 % of the signals"
    )
    turn = uniform(ag.Affine3d("rotate_x", "rotate_y", "rotate_z"), 0.5, 0.5, 0.5)
    assert say(turn, samples="clouds") == "rotate about x, y and z up to 28.6° in every cloud"
    haar = ag.Augmentation(ag.Affine3d("rotate_x", "rotate_y", "rotate_z"), ag.Haar())
    assert say(haar, samples="clouds") == (
        "rotate about x, y and z uniformly over all rotations in every cloud"
    )


def test_other_distributions_and_transforms_of_your_own():
    turn = ag.Augmentation(ag.Affine2d("rotate"), ag.Interval([-0.1], [0.4]))
    assert say(turn) == "rotate -5.7° to +22.9° in every image"

    class Warmth(ag.Transform):
        coordinates = (ag.Coordinate("warmth", limit=1.0),)

    own = uniform(Warmth(), 0.2)
    policy = ag.Policy.of(own)
    assert (
        policy.sentence("samples", kinds={"Warmth": Warmth}) == "warmth up to 0.2 in every sample"
    )
    with pytest.raises(ag.InputError, match="contains a Warmth, which is not built in"):
        policy.sentence()


def test_no_augmentation():
    from augerino.learning.defaults import no_augmentation

    assert ag.Policy.of(no_augmentation()).sentence("signals") == "leave the signals unchanged"


def test_rates_survive_a_file(tmp_path):
    learned = uniform(ag.Affine2d("rotate", "scale"), 0.5, 0.2, rate=[0.25, 1.0])
    policy = ag.Policy.of(learned)
    policy.save(tmp_path / "policy.json")
    loaded = ag.Policy.load(tmp_path / "policy.json")
    assert loaded.augmentation().distribution.rate.tolist() == [0.25, 1.0]
    assert loaded.sentence() == policy.sentence()
