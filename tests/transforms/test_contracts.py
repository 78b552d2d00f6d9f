"""Every transform satisfies the laws of `check_transform`, in both precisions."""

import pytest
import torch

import augerino as ag
from augerino import lie
from augerino.testing import check_transform
from augerino.transforms import Compose
from tests.conftest import smooth_images, smooth_signals

SMALL = 0.2  # coordinates that keep a smooth image in view with a small interpolation error


def small(transform):
    return (torch.rand(3, len(transform.names), dtype=torch.float64) * 2 - 1) * SMALL


AFFINE = [
    (),
    ("rotate",),
    ("scale", "translate_x"),
    ("squeeze", "shear"),
    ("translate_y", "rotate", "scale"),
]


@pytest.mark.parametrize("names", AFFINE, ids=lambda names: "-".join(names) or "all")
@pytest.mark.parametrize("size", [(24, 24), (20, 36)])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_affine2d(names, size, padding):
    affine = ag.Affine2d(*names, padding=padding)
    # The tolerance of the inverse is the error of two bilinear interpolations.
    check_transform(
        affine,
        smooth_images(height=size[0], width=size[1]),
        t=small(affine),
        inverse_tolerance=0.05,
    )


@pytest.mark.parametrize("size", [(24, 24), (20, 36)])
@pytest.mark.parametrize("padding", [0.0, 0.3])
def test_rototranslate2d(size, padding):
    t = torch.randn(3, 3, dtype=torch.float64) * torch.tensor([1.0, 2.0, 2.0])
    check_transform(
        ag.RotoTranslate2d(padding),
        smooth_images(height=size[0], width=size[1]),
        t=t,
        inverse_tolerance=0.05,
    )


@pytest.mark.parametrize(
    "transform", [ag.Brightness(), ag.Contrast()], ids=lambda t: type(t).__name__
)
def test_color(transform):
    check_transform(transform, torch.rand(4, 3, 5, 5, dtype=torch.float64), inverse_tolerance=None)


PHOTOMETRIC = [
    ag.AutoContrast(),
    ag.Equalize(),
    ag.Erase(),
    ag.Gamma(),
    ag.Hue(),
    ag.PixelNoise(),
    ag.Posterize(),
    ag.Saturation(),
    ag.Sharpness(),
    ag.Solarize(),
]


@pytest.mark.parametrize("transform", PHOTOMETRIC, ids=lambda t: type(t).__name__)
@pytest.mark.parametrize("channels", [1, 3])
def test_photometric(transform, channels):
    x = torch.rand(4, channels, 18, 20, dtype=torch.float64)
    check_transform(transform, x, inverse_tolerance=None)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_grayscale(value):
    x = torch.rand(3, 3, 6, 7, dtype=torch.float64)
    check_transform(ag.Grayscale(), x, t=torch.full((3, 1), value), inverse_tolerance=None)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("names", [(), ("x",), ("shift_y",)])
def test_pixel_shift(padding, names):
    shift = ag.PixelShift(*names, padding=padding)
    x = torch.rand(4, 2, 12, 17, dtype=torch.float64)
    check_transform(shift, x, inverse_tolerance=1e-12)


@pytest.mark.parametrize("names", [(), ("horizontal",), ("flip_vertical",)])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_flip(names, value):
    flip = ag.Flip(*names)
    t = torch.full((3, len(flip.names)), value)
    check_transform(flip, torch.rand(3, 2, 6, 7, dtype=torch.float64), t=t, inverse_tolerance=1e-12)


@pytest.mark.parametrize("kind", [ag.TimeShift, ag.TimeScale])
@pytest.mark.parametrize("padding", ["zeros", "border", "circular"])
def test_time(kind, padding):
    # The tolerance is about the error of two linear interpolations of a smooth signal.
    transform = kind(padding=padding)
    check_transform(transform, smooth_signals(), t=small(transform), inverse_tolerance=0.05)


def test_gain():
    check_transform(ag.Gain(), torch.randn(3, 2, 9, dtype=torch.float64), inverse_tolerance=1e-12)


def test_noise_level():
    check_transform(
        ag.NoiseLevel(), torch.randn(3, 2, 50, dtype=torch.float64), inverse_tolerance=None
    )


SPACE = [
    (),
    tuple(lie.AFFINE3D),
    ("rotate_z",),
    ("scale", "translate_x"),
    ("squeeze_xy", "shear_yz", "rotate_y"),
]


@pytest.mark.parametrize("names", SPACE, ids=lambda names: "-".join(names[:3]) or "paper")
def test_affine3d(names):
    affine = ag.Affine3d(*names)
    t = torch.randn(3, len(affine.names), dtype=torch.float64)
    check_transform(affine, torch.randn(3, 5, 3, dtype=torch.float64), t=t, inverse_tolerance=1e-9)


def test_compose():
    chain = Compose(
        [ag.Affine2d("rotate"), ag.Flip("horizontal"), ag.Affine2d("scale", "translate_x")]
    )
    t = small(chain)
    t[:, 1] = torch.tensor([0.0, 1.0, 1.0])
    check_transform(chain, smooth_images(), t=t, inverse_tolerance=0.08)


def test_on_passes_other_entries_through():
    lens = ag.On("image", ag.Affine2d("rotate"))
    image = smooth_images()
    t = torch.tensor([[0.1], [0.2], [0.3]], dtype=torch.float64)
    batch = {"image": image, "age": torch.arange(3), "name": "x"}
    moved = lens(batch, t)
    assert torch.equal(moved["image"], ag.Affine2d("rotate")(image, t))
    assert torch.equal(moved["age"], batch["age"]) and moved["name"] == "x"
    assert batch["image"] is image
    assert torch.equal(
        lens.inverse(moved, t)["image"], ag.Affine2d("rotate").inverse(moved["image"], t)
    )
    first = ag.On(0, ag.Affine2d("rotate"))((image, torch.arange(3)), t)
    assert isinstance(first, tuple) and torch.equal(first[0], moved["image"])
    with pytest.raises(ag.InputError, match="no entry 'picture'"):
        ag.On("picture", ag.Affine2d("rotate"))(batch, t)


class TestWhere:
    """With a mask, `On` transforms the valid entries and leaves the padding unchanged."""

    lens = ag.On("positions", ag.Affine3d("translate_x", "rotate_z"), where="mask")
    t = torch.tensor([[0.5, 1.0], [-2.0, 0.3]])

    def batch(self):
        mask = torch.tensor([[True, True, True, False], [True, False, False, False]])
        return {"positions": torch.randn(2, 4, 3) * mask[..., None], "mask": mask}

    def test_padding_stays_zero_there_and_back(self):
        batch = self.batch()
        moved = self.lens(batch, self.t)
        whole = self.lens.transform(batch["positions"], self.t)
        assert torch.equal(moved["positions"][batch["mask"]], whole[batch["mask"]])
        assert moved["positions"][~batch["mask"]].abs().max() == 0
        assert whole[~batch["mask"]].abs().max() > 0
        assert moved["mask"] is batch["mask"]
        back = self.lens.inverse(moved, self.t)["positions"]
        assert torch.allclose(back, batch["positions"], atol=1e-6)

    def test_a_mask_of_the_wrong_shape_is_rejected(self):
        batch = self.batch()
        with pytest.raises(
            ag.InputError,
            match=r"needs a mask over the first dimensions of \(2, 4, 3\).*but got \(2, 3\)",
        ):
            self.lens({**batch, "mask": batch["mask"][:, :3]}, self.t)
        with pytest.raises(
            ag.InputError, match=r"found no entry 'mask': the batch has the entries \['positions'\]"
        ):
            self.lens({"positions": batch["positions"]}, self.t)


@pytest.mark.parametrize(
    "device",
    [
        "cpu",
        pytest.param(
            "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")
        ),
    ],
)
@pytest.mark.parametrize(
    ("transform", "shape"),
    [
        *(
            (transform, (2, 3, 8, 8))
            for transform in (
                ag.Affine2d(),
                ag.RotoTranslate2d(0.1),
                ag.Brightness(),
                ag.Contrast(),
                ag.Flip(),
                ag.Grayscale(),
                ag.PixelShift(),
                *PHOTOMETRIC,
            )
        ),
        *(
            (transform, (2, 3, 8))
            for transform in (ag.TimeShift(), ag.TimeScale(), ag.Gain(), ag.NoiseLevel())
        ),
        (ag.Affine3d(), (2, 8, 3)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, ag.Transform) else "",
)
def test_device_and_dtype_follow_the_input(transform, shape, device):
    transform = transform.to(device)
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x = torch.rand(shape, device=device).to(dtype)
        y = transform(x, torch.zeros(2, len(transform.names), device=device))
        assert y.dtype == dtype and y.device.type == device


def test_a_missing_inverse_names_the_method_to_implement():
    with pytest.raises(TypeError, match=r"implement Brightness.inverse\(y, t\)"):
        ag.Brightness().inverse(torch.rand(1, 1, 2, 2), torch.zeros(1, 1))
