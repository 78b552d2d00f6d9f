"""The gallery: moved examples, drawings of every kind of input, and an unchanged model."""

import io
import json
import math

import pytest
import torch
from PIL import Image
from torch import nn

import augerino as ag
from augerino.diagnostics.examples import write_gallery
from augerino.diagnostics.frames import CLASS_COLORS, LARGE, SMALL, draw, draw_labels, strip


def classifier(augmentation, shape=(3, 8, 8), classes=3, **options):
    net = nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), classes))
    return ag.InvariantModel(net, augmentation, average=ag.mean_log_prob, **options)


def rotation(bound=0.5):
    return ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([bound]))


def written(
    folder, model, x, y=None, names=("a", "b", "c"), task="classification", kind="images", **options
):
    write_gallery(folder, model, x, y, names, task, kind, **options)
    return json.loads((folder / "gallery.json").read_text())


def opened(path):
    with Image.open(path) as image:
        return image.copy()


class TestSteps:
    def test_the_middle_is_the_input_and_the_learned_ends_are_steps(self, tmp_path):
        (axis,) = written(tmp_path, classifier(rotation()), torch.rand(1, 3, 8, 8))["coordinates"]
        values = axis["values"]
        assert len(values) == 13 and values == sorted(values) and values[6] == 0
        assert min(values) == pytest.approx(-1.0) and max(values) == pytest.approx(1.0)
        inside = [value for value, within in zip(values, axis["inside"], strict=True) if within]
        assert (inside[0], inside[-1]) == (pytest.approx(-0.5), pytest.approx(0.5))
        assert axis["texts"][-1] == "+57.3°"

    @pytest.mark.parametrize("bound", [1e-4, 0.01, 0.5, 2.0, 3.1, 3.2])
    def test_no_step_passes_the_limit_and_there_is_always_somewhere_to_go(self, tmp_path, bound):
        (axis,) = written(tmp_path, classifier(rotation(bound)), torch.rand(1, 3, 8, 8))[
            "coordinates"
        ]
        largest = max(abs(value) for value in axis["values"])
        assert 0.2 * math.pi < largest <= math.pi + 1e-6
        assert axis["inside"][axis["values"].index(0.0)]

    def test_an_interval_is_as_lopsided_as_it_was_learned(self, tmp_path):
        lopsided = ag.Augmentation(ag.Affine2d("translate_x"), ag.Interval([-0.3], [0.4]))
        (axis,) = written(tmp_path, classifier(lopsided), torch.rand(1, 3, 8, 8))["coordinates"]
        assert axis["values"][0] == pytest.approx(-0.6) and axis["values"][-1] == pytest.approx(0.8)

    def test_a_normal_distribution_reaches_two_deviations(self, tmp_path):
        normal = ag.Augmentation(ag.Affine2d("rotate"), ag.Gaussian([0.1], [0.2]))
        (axis,) = written(tmp_path, classifier(normal), torch.rand(1, 3, 8, 8))["coordinates"]
        inside = [
            value for value, within in zip(axis["values"], axis["inside"], strict=True) if within
        ]
        assert inside[-1] == pytest.approx(0.5) and inside[0] == pytest.approx(-0.3)

    def test_a_strength_starts_at_the_input(self, tmp_path):
        erase = ag.Augmentation(ag.Erase(), ag.Uniform([0.4]))
        (axis,) = written(tmp_path, classifier(erase), torch.rand(1, 3, 8, 8))["coordinates"]
        assert axis["values"][0] == 0 and axis["values"][-1] == pytest.approx(0.8)
        assert len(axis["values"]) == 13 and axis["texts"][0] == "0.0 % of the side"
        assert sum(axis["inside"]) == 7

    def test_greyscale_is_named_grey(self, tmp_path):
        grey = ag.Augmentation(ag.Grayscale(), ag.Bernoulli([0.5]))
        (axis,) = written(tmp_path, classifier(grey), torch.rand(1, 3, 8, 8))["coordinates"]
        assert axis["texts"] == ["as it is", "grey"]

    def test_a_flip_is_on_or_off(self, tmp_path):
        x = torch.rand(1, 3, 8, 8)
        both = ag.Chain(rotation(), ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([0.3])))
        _, axis = written(tmp_path, classifier(both), x)["coordinates"]
        assert axis["values"] == [0.0, 1.0] and axis["discrete"] and axis["inside"] == [True, True]
        row = Image.open(tmp_path / "0-1.png")
        left, right = (
            row.crop((0, 0, row.width // 2, row.height)),
            row.crop((row.width // 2, 0, row.width, row.height)),
        )
        assert left.transpose(Image.Transpose.FLIP_LEFT_RIGHT).tobytes() == right.tobytes()


class TestModel:
    def test_it_is_left_as_it_was_and_a_second_time_gives_the_same_bytes(self, tmp_path):
        model, x = classifier(rotation()).train(), torch.rand(2, 3, 8, 8)
        model.net.eval()
        before = torch.get_rng_state()
        written(tmp_path / "a", model, x)
        assert (
            model.training and not model.net.training and torch.equal(before, torch.get_rng_state())
        )
        torch.rand(3)
        written(tmp_path / "b", model, x)
        for name in ("gallery.json", "0-0.png", "1-0.png"):
            assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()

    def test_predictions_are_the_models_own(self, tmp_path):
        model, x = classifier(rotation(1e-20), test_copies=1), torch.rand(1, 3, 8, 8)
        data = written(tmp_path, model, x, torch.tensor([2]))
        values = torch.tensor(data["coordinates"][0]["values"])
        with torch.no_grad():
            expected = (
                model.net(ag.Affine2d("rotate")(x.expand(len(values), -1, -1, -1), values[:, None]))
                .softmax(1)
                .max(1)
            )
        said = data["strips"][0]["predictions"]
        assert [step["class"] for step in said] == expected.indices.tolist()
        assert [step["probability"] for step in said] == pytest.approx(
            expected.values.tolist(), abs=1e-5
        )
        assert data["examples"] == [{"truth": 2}]

    def test_at_most_six_examples_are_shown(self, tmp_path):
        data = written(
            tmp_path,
            classifier(rotation()),
            torch.rand(9, 3, 8, 8),
            torch.zeros(9, dtype=torch.long),
            frames=3,
        )
        assert len(data["examples"]) == 6 == len(list(tmp_path.glob("*.png")))

    def test_values_that_are_no_numbers_are_written_as_none(self, tmp_path):
        class Broken(nn.Module):
            def forward(self, x):
                return torch.full((len(x), 3), torch.nan)

        data = written(
            tmp_path,
            ag.InvariantModel(Broken(), rotation(), average=ag.mean_log_prob),
            torch.rand(1, 3, 8, 8),
            frames=3,
        )
        assert {step["probability"] for step in data["strips"][0]["predictions"]} == {None}

    def test_a_regression_and_a_structured_batch(self, tmp_path):
        class Mean(nn.Module):
            def forward(self, batch):
                return batch["image"].mean(dim=(1, 2, 3), keepdim=True).flatten(1)

        augmentation = ag.Augmentation(ag.On("image", ag.Affine2d("rotate")), ag.Uniform([0.5]))
        batch = {"image": torch.rand(2, 1, 8, 8), "age": torch.tensor([3.0, 4.0])}
        data = written(
            tmp_path,
            ag.InvariantModel(Mean(), augmentation),
            batch,
            torch.rand(2, 1),
            (),
            "regression",
        )
        assert len(data["strips"]) == 2 and len(data["strips"][0]["predictions"][0]["values"]) == 1
        assert len(data["examples"][0]["truth"]) == 1

    def test_a_segmentation_is_scored_in_the_transformed_frame(self, tmp_path):
        class Bright(nn.Module):
            def forward(self, x):
                score = 40 * (x.mean(1, keepdim=True) - 0.5)
                return torch.cat([-score, score], 1)

        x = torch.zeros(1, 3, 24, 24)
        x[..., 8:16, 8:16] = 1
        model = ag.EquivariantModel(Bright(), rotation(0.01), average=ag.mean_log_prob)
        data = written(
            tmp_path, model, x, x[:, 0].long(), ("ground", "pond"), "segmentation", "masks"
        )
        agreement = [step["agreement"] for step in data["strips"][0]["predictions"]]
        assert min(agreement) > 0.95 and agreement[6] == 1.0
        assert [key["class"] for key in data["legend"]] == [0, 1] and len(
            {key["color"] for key in data["legend"]}
        ) == 2

    def test_ignored_and_outside_pixels_are_hatched_and_not_counted(self, tmp_path):
        class Zero(nn.Module):
            def forward(self, x):
                return torch.cat([torch.ones_like(x), -torch.ones_like(x)], 1)

        shift = ag.Augmentation(ag.Affine2d("translate_x"), ag.Uniform([0.5]))
        y = torch.zeros(2, 8, 8, dtype=torch.long)
        y[0, :, 4:], y[0, :, 0] = 255, 1  # half is not known, one column is another class
        y[1] = 255
        model = ag.EquivariantModel(Zero(), shift, average=ag.mean_log_prob)
        data = written(
            tmp_path, model, torch.rand(2, 1, 8, 8), y, ("a", "b"), "segmentation", "masks"
        )
        seen, nothing = data["strips"]
        agreement = {
            round(value, 3): step["agreement"]
            for value, step in zip(
                data["coordinates"][0]["values"], seen["predictions"], strict=True
            )
        }
        assert agreement[0.0] == pytest.approx(3 / 4) and agreement[0.5] == pytest.approx(
            3 / 4
        )  # moved by two whole pixels
        assert agreement[-0.5] == 1.0 and agreement[-1.0] is None
        assert all(step["agreement"] is None for step in nothing["predictions"])
        true = opened(tmp_path / seen["masks"]["true"]).convert("RGB")
        assert true.size == opened(tmp_path / seen["file"]).size == (13 * 96, 96)
        greys = {color for _, color in true.crop((12 * 96, 0, 12 * 96 + 48, 96)).getcolors()}
        assert (
            all(r == g == b for r, g, b in greys) and len(greys) == 2
        )  # the left half came from outside at the last step
        predicted = opened(tmp_path / seen["masks"]["predicted"]).convert("RGB")
        assert {color for _, color in predicted.crop((6 * 96, 0, 7 * 96, 96)).getcolors()} == {
            (0, 0x72, 0xB2)
        }

    def test_masks_without_a_target_are_shown_but_not_scored(self, tmp_path):
        model = ag.EquivariantModel(nn.Conv2d(1, 3, 1), rotation(), average=ag.mean_log_prob)
        data = written(
            tmp_path,
            model,
            torch.rand(1, 1, 8, 8),
            None,
            ("a", "b", "c"),
            "segmentation",
            "masks",
            frames=3,
        )
        assert set(data["strips"][0]["masks"]) == {"predicted"} and data["strips"][0][
            "predictions"
        ] == [{}, {}, {}]

    def test_masks_of_many_classes_and_large_images_stay_small(self, tmp_path):
        model = ag.EquivariantModel(
            nn.Conv2d(3, 40, 1), rotation(), average=ag.mean_log_prob, test_copies=1
        )
        noise = torch.randint(40, (1, 200, 300), generator=torch.Generator().manual_seed(0))
        data = written(
            tmp_path,
            model,
            torch.rand(1, 3, 200, 300),
            noise,
            (),
            "segmentation",
            "masks",
            frames=3,
        )
        sizes = [
            opened(tmp_path / name).size
            for name in ("0-0.png", "0-0-predicted.png", "0-0-true.png")
        ]
        assert sizes == [(3 * 160, 106)] * 3 and [key["class"] for key in data["legend"]] == list(
            range(40)
        )
        assert data["legend"][13] == {
            "class": 13,
            "color": data["legend"][1]["color"],
            "chequered": True,
        }


class TestFrames:
    @pytest.mark.parametrize(
        ("kind", "shape", "size"),
        [
            ("images", (1, 8, 8), (96, 96)),
            ("images", (2, 8, 8), (96, 96)),
            ("images", (3, 1, 1), (96, 96)),
            ("images", (5, 33, 20), (60, 99)),
            ("images", (3, 400, 200), (80, 160)),
            ("images", (3, 1, 1000), (160, 1)),
            ("signals", (2, 50), (LARGE, SMALL)),
            ("signals", (9, 3000), (LARGE, SMALL)),
            ("values", (6,), (LARGE, SMALL)),
            ("values", (1,), (LARGE, SMALL)),
            ("points", (40, 3), (128, 128)),
            ("points", (5000, 2), (128, 128)),
        ],
    )
    @pytest.mark.parametrize("content", ["noise", "nothing", "no numbers"])
    def test_anything_can_be_drawn(self, kind, shape, size, content):
        x = {
            "noise": torch.randn(2, *shape),
            "nothing": torch.zeros(2, *shape),
            "no numbers": torch.full((2, *shape), torch.nan),
        }
        pictures = draw(kind, x[content])
        assert [picture.size for picture in pictures] == [size, size]

    def test_small_images_keep_their_pixels(self):
        (picture,) = draw("images", torch.tensor([[[[0.0, 1.0], [0.5, 0.25]]]]))
        assert picture.size == (96, 96)
        assert [
            picture.getpixel(place) for place in ((0, 0), (47, 47), (48, 0), (0, 48), (95, 95))
        ] == [0, 0, 255, 128, 64]

    def test_a_signal_moves_where_it_is_moved(self):
        x = torch.zeros(2, 1, 64)
        x[0, 0, 10], x[1, 0, 50] = 1, 1
        peaks = []
        for picture in draw("signals", x):
            rows = torch.tensor(list(picture.getchannel("A").tobytes())).reshape(SMALL, LARGE)
            peaks.append(rows[:20].sum(0).argmax().item())
        assert peaks[1] - peaks[0] == pytest.approx(40 / 63 * 148, abs=3)

    def test_every_class_has_a_colour_of_its_own_or_a_pattern(self):
        labels = torch.tensor([[[0, 1, 11], [12, 13, 255]]])
        (picture,) = draw_labels(labels)
        assert picture.size == (96, 64)
        patches = [
            picture.convert("RGBA").crop((32 * c, 32 * r, 32 * c + 32, 32 * r + 32))
            for r in range(2)
            for c in range(3)
        ]
        colors = [sorted(color for _, color in patch.getcolors()) for patch in patches]
        assert [len(found) for found in colors] == [1, 1, 1, 2, 2, 2] and len(
            {str(found) for found in colors}
        ) == 6
        assert colors[3][0][3] == 0 and colors[3][1] == colors[0][0]  # chequered with nothing

    def test_a_strip_of_masks_keeps_its_colours_when_it_gets_smaller(self):
        noise = torch.randint(12, (6, 100, 100), generator=torch.Generator().manual_seed(0))
        data, width, _ = strip(draw_labels(noise), 20_000)
        row = Image.open(io.BytesIO(data))
        assert (
            len(data) <= 20_000
            and width < 100
            and row.mode == "P"
            and row.info["transparency"] is not None
        )
        assert {
            "#{:02x}{:02x}{:02x}".format(*color) for _, color in row.convert("RGB").getcolors()
        } == set(CLASS_COLORS)

    def test_a_strip_stays_small_by_giving_up_colours_and_then_pixels(self):
        pictures = draw("images", torch.rand(13, 3, 100, 100))
        data, width, height = strip(pictures, 40_000)
        assert len(data) <= 40_000 and width == height < 100
        row = Image.open(io.BytesIO(data))
        assert row.size == (13 * width, height)
        plain = draw("images", torch.zeros(3, 3, 100, 100))
        assert strip(plain, 40_000)[1:] == (100, 100)
