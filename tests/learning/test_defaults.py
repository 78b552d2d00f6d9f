"""Default augmentation, network, loss and number of epochs."""

import math

import pytest
import torch
from torch import nn

import augerino as ag
from augerino.learning.defaults import (
    check_intensities,
    default_augmentation,
    default_net,
    kind_of,
    masked_nll,
    no_augmentation,
    output_action,
)
from augerino.learning.recipe import FEWEST_STEPS, MOST_STEPS

LABELS = torch.zeros(2, dtype=torch.long)


@pytest.mark.parametrize(
    ("x", "y", "kind"),
    [
        (torch.zeros(2, 3, 8, 8), LABELS, "images"),
        (torch.zeros(2, 3, 8, 8), torch.zeros(2, 8, 8, dtype=torch.long), "masks"),
        (torch.zeros(2, 3, 8, 8), torch.zeros(2, 8, 8), "images"),
        (torch.zeros(2, 5, 3), LABELS, "points"),
        ({"positions": torch.zeros(2, 5, 3)}, LABELS, "points"),
        (torch.zeros(2, 1, 64), LABELS, "signals"),
        (torch.zeros(2, 7), LABELS, "values"),
    ],
)
def test_the_kind_of_data_is_read_from_its_shape(x, y, kind):
    assert kind_of(x, y) == kind


@pytest.mark.parametrize(
    ("kind", "changes", "names"),
    [
        ("images", {}, ("translate_x", "translate_y", "rotate", "scale")),
        ("images", {"coordinates": "shear"}, ("shear",)),
        ("images", {"coordinates": ("rotate", "flip_horizontal")}, ("rotate", "flip_horizontal")),
        ("images", {"transforms": ("color",)}, ("brightness", "contrast")),
        (
            "images",
            {"transforms": ("photometric",)},
            (
                "saturation",
                "hue",
                "gamma",
                "sharpness",
                "autocontrast",
                "equalize",
                "solarize",
                "posterize",
                "grayscale",
            ),
        ),
        (
            "images",
            {"transforms": ("occlusion", "shift")},
            ("shift_x", "shift_y", "erase", "pixel_noise"),
        ),
        ("masks", {"coordinates": "shift_y,hue"}, ("shift_y", "hue")),
        (
            "images",
            {"transforms": ("flip", "affine"), "coordinates": ("flip_vertical",)},
            ("flip_vertical",),
        ),
        ("signals", {}, ("time_shift", "gain")),
        (
            "signals",
            {"transforms": ("time", "gain", "noise")},
            ("time_shift", "time_scale", "gain", "noise"),
        ),
        ("points", {}, ("rotate_x", "rotate_y", "rotate_z", "scale")),
        ("signals", {"transforms": "time"}, ("time_shift", "time_scale")),
        ("points", {"coordinates": "rotate_z,shear_xy"}, ("rotate_z", "shear_xy")),
    ],
)
def test_groups_and_coordinates_select_the_learned_coordinates(kind, changes, names):
    assert default_augmentation(ag.Recipe(**changes), kind).names == names


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        (
            "images",
            {"transforms": "colour"},
            "no group of transforms 'colour' for images. There are: affine, flip, color",
        ),
        ("images", {"coordinates": "rotat"}, "Did you mean 'rotate'"),
        (
            "images",
            {"coordinates": "brightness", "transforms": "affine"},
            "no coordinate 'brightness'",
        ),
        ("signals", {"coordinates": "rotate"}, "signals has no coordinate 'rotate'"),
        ("values", {}, "no default augmentation for inputs"),
    ],
)
def test_unknown_groups_and_coordinates_are_rejected(kind, changes, words):
    with pytest.raises(ag.InputError, match=words):
        default_augmentation(ag.Recipe(**changes), kind)


def test_every_coordinate_starts_at_the_same_extent_in_its_own_unit():
    recipe = ag.Recipe(start=0.2, transforms=("affine", "flip", "color"))
    augmentation = default_augmentation(recipe, "images")
    assert list(augmentation.extent.values()) == pytest.approx([0.2] * 8)
    clouds = 10 * torch.randn(50, 20, 3)
    recipe = ag.Recipe(start=0.2, coordinates="rotate_z,translate_x")
    extent = default_augmentation(recipe, "points", clouds).extent
    assert extent["rotate_z"] == pytest.approx(0.2)
    # A translation has the unit of the data.
    assert extent["translate_x"] == pytest.approx(0.2 * clouds.std().item())


def test_grey_images_have_no_coordinates_of_colour():
    grey = torch.rand(8, 1, 6, 6)
    names = default_augmentation(ag.Recipe(transforms="photometric"), "images", grey).names
    assert "gamma" in names and not {"hue", "saturation", "grayscale"} & set(names)
    with pytest.raises(ag.InputError, match="'hue' changes colour, but the images have one"):
        default_augmentation(ag.Recipe(coordinates="gamma,hue"), "images", grey)


@pytest.mark.parametrize("name", ["brightness", "gamma", "equalize", "erase", "pixel_noise"])
def test_intensities_must_lie_between_0_and_1(name):
    check_intensities(torch.rand(2, 3, 4, 4), ["rotate", name])
    check_intensities(255 * torch.rand(2, 3, 4, 4), ["rotate", "shift_x"])
    with pytest.raises(ag.InputError, match=f"To learn {name}, intensities must lie in"):
        check_intensities(255 * torch.rand(2, 3, 4, 4), ["rotate", name])
    with pytest.raises(ag.InputError, match=f"To learn {name}, hue and contrast, intensities"):
        check_intensities(torch.randn(2, 3, 4, 4), [name, "hue", "contrast"])


def test_padding_of_point_clouds_is_not_transformed():
    x = {"positions": torch.randn(2, 4, 3), "mask": torch.tensor([[True] * 3 + [False]] * 2)}
    x["positions"][:, 3] = 0
    moved = default_augmentation(ag.Recipe(start=0.5), "points", x)(x)
    assert torch.equal(moved["positions"][:, 3], torch.zeros(2, 3))
    assert not torch.equal(moved["positions"][:, :3], x["positions"][:, :3])


def test_no_augmentation_does_nothing_and_learns_nothing():
    model = ag.InvariantModel(nn.Flatten(), no_augmentation())
    x = torch.rand(3, 1, 2, 2)
    assert torch.equal(model(x), x.flatten(1)) and model.augmentation.extent == {}
    assert ag.param_groups(model) == []


def test_masks_follow_spatial_transforms_but_not_color():
    augmentation = default_augmentation(ag.Recipe(transforms=("affine", "color")), "masks")
    action = output_action(augmentation.transform)
    y = torch.rand(1, 2, 6, 6)
    t = torch.zeros(1, 6)
    t[0, 4:] = 0.5
    assert torch.allclose(action(y, t), y, atol=1e-6)
    assert torch.allclose(action.inverse(y, t), y, atol=1e-6)
    t[0, 2] = math.pi / 2
    assert torch.allclose(action(y, t), y.rot90(-1, (-2, -1)), atol=1e-5)


def test_masks_follow_pixel_shifts_but_no_operation_on_intensities():
    recipe = ag.Recipe(transforms=("shift", "photometric", "occlusion"))
    augmentation = default_augmentation(recipe, "masks")
    action = output_action(augmentation.transform)
    y = torch.rand(1, 2, 8, 8)
    t = torch.ones(1, len(action.names)) / 2
    assert torch.equal(action(y, t), ag.PixelShift()(y, t[:, :2]))
    assert action.without_inverse() is None


def test_the_loss_of_ignored_pixels_alone_is_zero():
    prediction = torch.zeros(1, 2, 3, 3, requires_grad=True)
    loss = masked_nll(prediction.log_softmax(1), torch.full((1, 3, 3), 255))
    loss.backward()
    assert loss.item() == 0 and prediction.grad.abs().sum() == 0


@pytest.mark.parametrize(
    ("kind", "x", "shape"),
    [
        ("images", torch.zeros(2, 3, 8, 8), (2, 5)),
        ("masks", torch.zeros(2, 3, 9, 7), (2, 5, 9, 7)),
        ("signals", torch.zeros(2, 2, 50), (2, 5)),
        ("points", torch.zeros(2, 9, 3), (2, 5)),
    ],
)
def test_each_kind_has_a_small_network(kind, x, shape):
    assert default_net("auto", kind=kind, x=x, n_outputs=5, width=4).eval()(x).shape == shape


def test_the_network_for_molecules_takes_every_element_and_has_no_invariance():
    x = {
        "positions": torch.randn(2, 4, 3),
        "mask": torch.tensor([[True] * 4, [True, False, False, False]]),
        "charges": torch.tensor([[6, 1, 118, 0], [8, 0, 0, 0]]),
    }
    net = default_net("auto", kind="points", x=x, n_outputs=5, width=2)
    for _ in range(20):
        net(x)  # running statistics of batch norm
    net.eval()
    assert net(x).shape == (2, 5)
    for key, moved in (("positions", x["positions"] + 1), ("charges", x["charges"].flip(0))):
        assert not torch.allclose(net(x), net({**x, key: moved}), atol=1e-4)


def test_the_scale_of_padded_clouds_ignores_the_padding():
    x = {"positions": torch.randn(50, 8, 3), "mask": torch.arange(8).expand(50, 8) < 2}
    x["positions"] *= x["mask"][..., None]
    recipe = ag.Recipe(start=0.2, coordinates="translate_x")
    extent = default_augmentation(recipe, "points", x).extent
    assert extent["translate_x"] == pytest.approx(0.2 * x["positions"][:, :2].std().item())


def make_linear(channels, outputs):
    return nn.Sequential(nn.Flatten(), nn.LazyLinear(outputs))


def test_networks_by_name():
    x = torch.zeros(2, 3, 8, 8)
    name = "tests.learning.test_defaults:make_linear"
    net = default_net(name, kind="images", x=x, n_outputs=5, width=4)
    assert net(x).shape == (2, 5)
    for name, words in [
        ("tests.learning.test_defaults:nothing", "cannot be built"),
        ("no.such.module:net", "cannot be built"),
        ("builtins:max", "returned a int, but must return a torch module"),
        ("resnet_none", "no network 'resnet_none'"),
    ]:
        with pytest.raises(ag.InputError, match=words):
            default_net(name, kind="images", x=x, n_outputs=5, width=4)
    with pytest.raises(ag.InputError, match="takes images"):
        default_net("layer13", kind="signals", x=torch.zeros(2, 1, 50), n_outputs=5, width=4)
    net = default_net("fc_densenet_small", kind="masks", x=x, n_outputs=5, width=4)
    assert net(x).shape == (2, 5, 8, 8)
    message = "'fc_densenet_small' labels pixels, but the targets are not masks"
    with pytest.raises(ag.InputError, match=message):
        default_net("fc_densenet_small", kind="images", x=x, n_outputs=5, width=4)


@pytest.mark.parametrize(
    ("steps", "epochs"), [(1, FEWEST_STEPS), (4, 300), (16, 75), (100, 40), (469, 13), (10_000, 5)]
)
def test_small_data_get_more_epochs_and_large_data_fewer(steps, epochs):
    assert ag.Recipe().passes(steps) == epochs
    assert ag.Recipe(epochs=7).passes(steps) == 7
    assert ag.Recipe().passes(steps) * steps >= min(FEWEST_STEPS, MOST_STEPS)
