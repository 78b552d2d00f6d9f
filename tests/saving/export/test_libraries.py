"""The learned augmentation in other libraries gives the same pixels at the same coordinates."""

import random
import subprocess
import sys

import numpy as np
import pytest
import torch

import augerino as ag
from augerino.saving import export as exporting
from tests.conftest import need, smooth_images

LIBRARIES = ("torchvision", "kornia", "albumentations")
PADDINGS = ("zeros", "border", "reflection")
SIZES = ((24, 24), (20, 33))
each = pytest.mark.parametrize("library", LIBRARIES)


def chain(padding="zeros"):
    return ag.Chain(
        ag.Augmentation(ag.Affine2d(padding=padding), ag.Uniform([0.2, 0.2, 1.0, 0.3, 0.2, 0.2])),
        ag.Augmentation(ag.Brightness(), ag.Interval([-0.2], [0.1])),
        ag.Augmentation(ag.Contrast(), ag.Gaussian([0.0], [0.2])),
        ag.Augmentation(ag.Flip(), ag.Bernoulli([0.5, 0.5])),
    )


OPERATIONS = {
    "AutoContrast": ag.AutoContrast(),
    "Equalize": ag.Equalize(),
    "Erase": ag.Erase(),
    "Gamma": ag.Gamma(),
    "Grayscale": ag.Grayscale(),
    "Hue": ag.Hue(),
    "PixelNoise": ag.PixelNoise(),
    "PixelShift": ag.PixelShift(),
    "PixelShift-border": ag.PixelShift("x", padding="border"),
    "PixelShift-reflection": ag.PixelShift(padding="reflection"),
    "Posterize": ag.Posterize(),
    "Saturation": ag.Saturation(),
    "Sharpness": ag.Sharpness(),
    "Solarize": ag.Solarize(),
}
each_operation = pytest.mark.parametrize("name", OPERATIONS)


def augmentation_of(name):
    """One operation with its whole range."""
    transform = OPERATIONS[name]
    if transform.coordinates[0].discrete:
        return ag.Augmentation(transform, ag.Bernoulli([0.5]))
    return ag.Augmentation(transform, ag.Uniform([c.limit for c in transform.coordinates]))


def photometric_chain():
    names = [name for name in OPERATIONS if "-" not in name]
    return ag.Chain(*(augmentation_of(name) for name in names))


def coordinates_of(augmentation, n=6):
    """Draws, of which the last is 0."""
    t = augmentation.sample(n).t.detach()
    t[-1] = 0
    return t


def export(library, policy):
    need(library)
    return getattr(exporting, f"to_{library}")(policy)


def apply_at(library, transform, x, t):
    """Float images (B, C, H, W) moved by the other library, one row of coordinates each."""
    if library == "kornia":
        return transform.apply_at(x, t)
    if library == "torchvision":
        return torch.stack(
            [transform.apply_at(image, row.tolist()) for image, row in zip(x, t, strict=True)]
        )
    pictures = [np.ascontiguousarray(image.permute(1, 2, 0).numpy()) for image in x]
    moved = [
        transform.apply_at(picture, row.tolist()) for picture, row in zip(pictures, t, strict=True)
    ]
    return torch.stack([torch.from_numpy(picture).permute(2, 0, 1) for picture in moved])


def tolerance(library):
    """OpenCV before 5 rounds positions to 1/32 pixel, an error of 0.02 in these pictures."""
    if library != "albumentations":
        return 2e-5
    import cv2

    return 1e-4 if int(cv2.__version__.split(".")[0]) >= 5 else 2e-2


@pytest.mark.extras
@each
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_same_pixels_at_the_same_coordinates(library, padding, size):
    augmentation = chain(padding)
    x = torch.rand(8, 3, *size)  # up to the border and as rough as can be
    t = augmentation.sample(8).t.detach()
    theirs = apply_at(library, export(library, augmentation), x, t)
    ours = augmentation.transform(x, t)
    assert (theirs - ours).abs().max() < tolerance(library)
    assert (theirs - x).abs().max() > 0.1


@pytest.mark.extras
@each
@each_operation
@pytest.mark.parametrize("channels", [1, 3])
def test_every_operation_gives_the_same_pixels(library, name, channels):
    # Also for Erase and PixelNoise: the exported hash is that of the library.
    torch.manual_seed(0)
    augmentation = augmentation_of(name)
    x = 0.1 + 0.8 * torch.rand(6, channels, 20, 33)
    t = coordinates_of(augmentation)
    theirs = apply_at(library, export(library, augmentation), x, t)
    ours = augmentation.transform(x, t)
    assert (theirs - ours).abs().max() < 2e-5
    assert torch.equal(theirs[-1], x[-1])
    changes_nothing = channels == 1 and name in ("Grayscale", "Hue", "Saturation")
    assert torch.equal(ours, x) == changes_nothing


@pytest.mark.extras
@each
def test_colour_needs_one_channel_or_three(library):
    transform = export(library, augmentation_of("Hue"))
    with pytest.raises(ValueError, match="Hue needs images with 1 or 3 channels, but got 4"):
        apply_at(library, transform, torch.rand(1, 4, 5, 5), torch.tensor([[0.5]]))


@pytest.mark.extras
@each
def test_rates_are_those_of_the_policy(library):
    torch.manual_seed(0)
    learned = ag.Augmentation(ag.Gamma(), ag.Uniform([0.5], rate=0.25))
    transform = export(library, ag.Policy.of(learned))
    picture = torch.full((3, 4, 4), 0.5)
    n = 400
    n_changed = 0
    for _ in range(n):
        if library == "albumentations":
            changed = transform(image=picture.permute(1, 2, 0).numpy())["image"]
        else:
            changed = transform(picture)
        n_changed += bool(abs(float(changed.reshape(-1)[0]) - 0.5) > 1e-9)
    assert abs(n_changed / n - 0.25) < 4 * (0.25 * 0.75 / n) ** 0.5


@pytest.mark.extras
@each
@pytest.mark.parametrize("name", ag.Affine2d().names)
def test_every_coordinate_moves_the_same_way(library, name):
    augmentation = ag.Augmentation(ag.Affine2d(name), ag.Uniform([0.3]))
    transform, x = export(library, augmentation), smooth_images(2, 3, 20, 33, dtype=torch.float32)
    for value in (0.5, -0.5):
        t = torch.full((2, 1), value)
        ours = augmentation.transform(x, t)
        assert (apply_at(library, transform, x, t) - ours).abs().max() < tolerance(library)
        assert (
            augmentation.transform(x, -t) - ours
        ).abs().max() > 0.05  # the other sign would show


@pytest.mark.extras
@each
def test_a_positive_rotation_turns_clockwise_on_the_screen(library):
    transform = export(library, ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([1.0])))
    x = torch.zeros(1, 3, 21, 21)
    x[:, :, 10, 17] = 1  # a dot at three o'clock
    moved = apply_at(library, transform, x, torch.tensor([[torch.pi / 2]]))
    assert moved[0, 0, 17, 10] > 0.9  # at six


@pytest.mark.extras
@each
def test_draws_are_random_and_repeat_with_the_librarys_seed(library):
    transform = export(library, chain())
    picture = torch.rand(3, 16, 16)

    def call():
        if library == "albumentations":
            return torch.from_numpy(transform(image=picture.permute(1, 2, 0).numpy())["image"])
        return transform(picture)

    def seed(value):
        torch.manual_seed(value)
        if library == "albumentations":
            transform.set_random_seed(value)

    seed(1)
    first, second = call(), call()
    seed(1)
    assert torch.equal(call(), first) and not torch.allclose(first, second)


@pytest.mark.extras
@each
@pytest.mark.parametrize("make", [lambda: chain("reflection"), photometric_chain])
def test_the_file_that_needs_no_augerino_does_the_same(library, make, tmp_path):
    augmentation = make()
    transform = export(library, augmentation)
    (tmp_path / "learned.py").write_text(
        exporting.standalone(augmentation, library), encoding="utf-8"
    )
    x, t = torch.rand(2, 3, 20, 33), augmentation.sample(2).t.detach()
    torch.save((x, t), tmp_path / "in.pt")
    arrange = {
        "kornia": "y = augmentation.apply_at(x, t)",
        "torchvision": """
y = torch.stack([augmentation.apply_at(image, row.tolist()) for image, row in zip(x, t)])
""",
        "albumentations": """
arrays = [image.permute(1, 2, 0).numpy().copy() for image in x]
moved = [augmentation.apply_at(array, row.tolist()) for array, row in zip(arrays, t)]
y = torch.stack([torch.from_numpy(array).permute(2, 0, 1) for array in moved])
""",
    }
    code = f"""
import sys, types
sys.modules["augerino"] = None
import torch
try:
    import torchvision
except ImportError:
    pass
except RuntimeError:
    sys.modules["torchvision._meta_registrations"] = types.ModuleType("stub")
from learned import augmentation
x, t = torch.load("in.pt")
{arrange[library]}
torch.save(y, "out.pt")
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, check=True)
    assert torch.equal(torch.load(tmp_path / "out.pt"), apply_at(library, transform, x, t))


@pytest.mark.extras
class TestTorchvision:
    def transform(self):
        return export("torchvision", chain())

    def test_it_stands_in_a_pipeline_with_every_kind_of_image(self):
        transform = self.transform()
        import PIL.Image
        from torchvision import tv_tensors
        from torchvision.transforms import v2

        pipeline = v2.Compose([transform, v2.ToImage()])
        picture = (torch.rand(3, 12, 20) * 255).to(torch.uint8)
        t = [0.1, 0.0, 0.5, 0.1, 0.0, 0.0, 0.1, 0.1, 1.0, 0.0]
        expected = transform.apply_at(picture.float() / 255, t)
        for image in (
            picture,
            tv_tensors.Image(picture),
            PIL.Image.fromarray(picture.permute(1, 2, 0).numpy()),
        ):
            moved = transform.apply_at(image, t)
            assert type(moved) is type(image) or isinstance(moved, PIL.Image.Image)
            values = v2.functional.to_image(moved).as_subclass(torch.Tensor).float() / 255
            assert (values - expected).abs().max() < 1.5 / 255
            assert pipeline(image).shape == (3, 12, 20)
        assert transform(picture.expand(4, 3, 12, 20)).shape == (4, 3, 12, 20)

    def test_masks_move_with_their_image_and_keep_their_values(self):
        transform = export("torchvision", ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([1.0])))
        from torchvision import tv_tensors

        labels = torch.zeros(21, 21, dtype=torch.int64)
        labels[8:13, 14:19] = 7
        image = tv_tensors.Image((labels > 0).float().expand(1, 21, 21))
        moved, mask = transform(image, tv_tensors.Mask(labels))
        assert set(mask.unique().tolist()) == {0, 7} and isinstance(mask, tv_tensors.Mask)
        assert ((mask > 0) == (moved[0] > 0.5)).float().mean() > 0.98

    def test_targets_that_do_not_move_pass_through(self):
        transform = export("torchvision", augmentation_of("Gamma"))
        from torchvision import tv_tensors

        boxes = tv_tensors.BoundingBoxes([[0, 0, 1, 1]], format="XYXY", canvas_size=(4, 4))
        mask = tv_tensors.Mask(torch.arange(16).reshape(4, 4))
        _, same_boxes, same_mask = transform(torch.rand(3, 4, 4), boxes, mask)
        assert torch.equal(same_boxes, boxes) and torch.equal(same_mask, mask)

    def test_a_shift_moves_masks(self):
        transform = export("torchvision", augmentation_of("PixelShift"))
        from torchvision import tv_tensors

        mask = tv_tensors.Mask(torch.arange(64).reshape(8, 8))
        moved = transform.apply_at(mask, [0.25, 0.0])
        assert torch.equal(moved[:, 1:], mask[:, :-1]) and (moved[:, 0] == 0).all()

    def test_targets_that_would_stay_untransformed_are_rejected(self):
        transform = self.transform()
        import PIL.Image
        from torchvision import tv_tensors

        boxes = tv_tensors.BoundingBoxes([[0, 0, 1, 1]], format="XYXY", canvas_size=(4, 4))
        with pytest.raises(TypeError, match="images and masks only, but got BoundingBoxes"):
            transform(torch.rand(3, 4, 4), boxes)
        with pytest.raises(TypeError, match='not "P": use'):
            transform(PIL.Image.new("P", (4, 4)))


@pytest.mark.extras
class TestKornia:
    def test_every_item_is_transformed_separately_by_default(self):
        transform = export("kornia", ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([1.0])))
        x = torch.rand(1, 1, 9, 9).expand(3, 1, 9, 9)
        y = transform(x)
        assert not torch.allclose(y[0], y[1])
        transform.same_on_batch = True
        y = transform(x)
        assert torch.equal(y[0], y[1])
        assert transform(x[:0]).shape == (0, 1, 9, 9)

    def test_masks_and_key_points_follow_in_a_container(self):
        transform = export("kornia", chain())
        from kornia.augmentation import AugmentationSequential

        container = AugmentationSequential(transform, data_keys=["input", "mask", "keypoints"])
        dots = torch.zeros(4, 1, 41, 61)
        dots[:, :, 18:21, 33:36] = 1
        points = torch.tensor([[[34.0, 19.0]]]).expand(4, 1, 2)
        image, mask, moved = container(dots, dots, points)
        assert set(mask.unique().tolist()) <= {0.0, 1.0}
        for i in range(4):
            where = mask[i, 0].nonzero().float().mean(0).flip(0)  # (x, y)
            assert (where - moved[i, 0]).abs().max() < 1.0
            bright = (image[i, 0] == image[i, 0].max()).nonzero().float().mean(0).flip(0)
            assert (bright - moved[i, 0]).abs().max() < 1.5

    def test_key_points_follow_shifts_and_ignore_intensities(self):
        shift = ag.Augmentation(ag.PixelShift(), ag.Uniform([0.4, 0.3]))
        noise = ag.Augmentation(ag.Solarize(), ag.Uniform([0.5]))
        transform = export("kornia", ag.Chain(shift, noise))
        from kornia.augmentation import AugmentationSequential

        container = AugmentationSequential(transform, data_keys=["input", "mask", "keypoints"])
        dots = torch.zeros(8, 1, 41, 61)
        dots[:, :, 19, 34] = 1
        points = torch.tensor([[[34.0, 19.0]]]).expand(8, 1, 2)
        _, mask, moved = container(dots, dots, points)
        for i in range(8):
            (where,) = mask[i, 0].nonzero().float()
            assert torch.allclose(where.flip(0), moved[i, 0], atol=1e-4)
        assert len(moved.unique(dim=0)) > 1


@pytest.mark.extras
class TestAlbumentations:
    def test_targets_that_do_not_move_pass_through(self):
        transform = export("albumentations", augmentation_of("PixelNoise"))
        import albumentations as A

        pipeline = A.Compose([transform], keypoint_params=A.KeypointParams("xy"))
        mask = np.arange(64, dtype=np.int32).reshape(8, 8)
        out = pipeline(image=np.full((8, 8, 3), 0.5, np.float32), mask=mask, keypoints=[(1, 2)])
        assert np.array_equal(out["mask"], mask)
        assert np.array_equal(np.array(out["keypoints"]), [[1, 2]])
        assert out["image"].std() > 0

    def test_a_shift_moves_masks_and_grey_images(self):
        transform = export("albumentations", augmentation_of("PixelShift"))
        mask = np.arange(64, dtype=np.int32).reshape(8, 8)
        moved = transform.apply_to_mask(mask, [0.25, 0.0])
        assert np.array_equal(moved[:, 1:], mask[:, :-1]) and not moved[:, 0].any()
        assert moved.dtype == np.int32 and transform.apply_at(mask / 64, [0.5, 0.5]).shape == (8, 8)

    def test_bytes_grey_and_many_channels(self):
        transform = export("albumentations", chain())
        picture = (np.random.default_rng(0).random((12, 20, 3)) * 255).astype(np.uint8)
        t = [0.1, 0.0, 0.5, 0.1, 0.0, 0.0, 0.1, 0.1, 1.0, 0.0]
        floats = transform.apply_at(picture.astype(np.float32) / 255, t)
        assert np.abs(transform.apply_at(picture, t) / 255 - floats).max() < 1 / 255
        assert np.array_equal(
            transform.apply_at(picture[..., 0], t), transform.apply_at(picture, t)[..., 0]
        )
        many = np.concatenate([picture, picture], axis=2)
        assert transform.apply_at(many, t).shape == (12, 20, 6)

    def test_masks_move_with_their_image_and_keep_their_values(self):
        transform = export(
            "albumentations", ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([1.0]))
        )
        import albumentations as A

        labels = np.zeros((21, 21), dtype=np.int64)
        labels[8:13, 14:19] = 7
        out = A.Compose([transform], seed=3)(image=(labels > 0).astype(np.float32), mask=labels)
        assert set(np.unique(out["mask"])) == {0, 7} and out["mask"].dtype == np.int64
        assert ((out["mask"] > 0) == (out["image"] > 0.5)).mean() > 0.98

    def test_targets_that_would_stay_untransformed_are_rejected(self):
        transform = export("albumentations", chain())
        import albumentations as A

        pipeline = A.Compose([transform], keypoint_params=A.KeypointParams("xy"))
        with pytest.raises(TypeError, match="not key points"):
            pipeline(image=np.zeros((8, 8, 3), np.float32), keypoints=[(1, 1)])


class Curve(ag.Transform):
    coordinates = (ag.Coordinate("gamma"),)

    def forward(self, x, t):
        return x ** t.exp()[:, :, None, None]


class TestWithoutTheLibrary:
    @each
    def test_unsupported_parts_are_named(self, library):
        lens = ag.Augmentation(ag.On("image", ag.Affine2d("rotate")), ag.Uniform([0.3]))
        own = ag.Augmentation(Curve(), ag.Uniform([0.3]))
        for augmentation, kind in ((lens, "On"), (own, "Curve")):
            for policy in (augmentation, ag.Policy.of(augmentation)):
                with pytest.raises(
                    ag.InputError, match=f"contains {kind}, which cannot be exported to {library}"
                ):
                    exporting.standalone(policy, library)

    @each
    def test_a_namesake_of_a_built_in_transform_is_not_taken_for_it(self, library):
        class Gamma(Curve):
            pass

        with pytest.raises(ag.InputError, match="contains a Gamma of your own, which cannot be"):
            exporting.standalone(ag.Augmentation(Gamma(), ag.Uniform([0.3])), library)

    @each
    def test_a_missing_library_is_named_with_its_extra(self, library, monkeypatch):
        for module in [library, *(name for name in sys.modules if name.startswith(f"{library}."))]:
            monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.delitem(
            sys.modules, f"augerino.saving.export.{exporting.LIBRARIES[library]}", raising=False
        )
        with pytest.raises(ag.InputError, match=rf'pip install "augerino\[{library}\]"'):
            getattr(exporting, f"to_{library}")(chain())

    @each
    def test_the_file_is_python_that_imports_nothing_of_ours(self, library):
        text = exporting.standalone(ag.Policy.of(chain()), library)
        compile(text, "learned.py", "exec")
        imports = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
        assert imports and not any("augerino" in line for line in imports)
        assert f"this file needs {library}" in text and "rotate ±57.3°" in text

    def test_the_exported_numbers_equal_the_learned_ones(self):
        text = exporting.standalone(
            ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([0.7854])), "kornia"
        )
        assert "0.785399" in text or "0.7854" in text

    def test_another_library_is_rejected(self):
        with pytest.raises(ag.InputError, match=r"library must be one of .*, but got 'imgaug'"):
            exporting.standalone(chain(), "imgaug")


def test_plain_draws_need_the_right_number_of_coordinates():
    from augerino.saving.export.element import split

    with pytest.raises(ValueError, match="coordinates rotate, scale, but got 1 numbers"):
        split([{"kind": "Affine2d", "names": ["rotate", "scale"]}], [random.random()])
