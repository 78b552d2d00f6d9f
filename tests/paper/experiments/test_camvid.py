"""The segmentation experiment: its rows, batches and stored label maps."""

import math

import pytest
import torch

import augerino as ag
from augerino.app import catalogue
from augerino.data.arrays import IGNORE
from augerino.data.published.camvid import CLASSES, COLORS
from augerino.paper.experiments.camvid import CamVid, rows
from augerino.paper.experiments.camvid_figures import colored, from_text, to_text
from augerino.paper.experiments.segmenting import (
    REGULARIZERS,
    Scenes,
    confusion_of,
    loss_at,
    make_augmentation,
    train_row,
)


def scenes(n=12, height=10, width=14):
    """Scenes whose labels can be read off their pixels, each pixel of another value."""
    y = torch.randint(len(CLASSES), (n, height, width), dtype=torch.uint8)
    return (y[:, None] * 20).expand(-1, 3, -1, -1).contiguous(), y


class TestScenes:
    def test_image_and_labels_stay_together_whatever_is_cut_out(self):
        x, y = scenes()
        for images, labels in Scenes(x, y, 5, crop=6, crop_epochs=1):
            assert images.shape[-2:] == labels.shape[-2:] == (6, 6) and labels.dtype == torch.long
            assert torch.equal((images[:, 0] * 255 / 20).round().long(), labels)

    def test_places_and_flips_differ_between_scenes(self):
        x, y = scenes(1)
        served = {
            tuple(labels[0].flatten().tolist())
            for images, labels in Scenes(x.repeat(64, 1, 1, 1), y.repeat(64, 1, 1), 1, 6, 1)
        }
        assert len(served) > 32
        flat = torch.arange(14, dtype=torch.uint8).expand(64, 1, 1, 14)
        rising = [
            bool(labels[0, 0, 0] < labels[0, 0, -1])
            for _, labels in Scenes(flat, flat[:, 0], 1, 3, 1)
        ]
        assert 16 < sum(rising) < 48

    def test_the_last_passes_see_whole_scenes(self):
        x, y = scenes()
        loader = Scenes(x, y, 4, crop=6, crop_epochs=2)
        sizes = [{tuple(labels.shape[-2:]) for _, labels in loader} for _ in range(3)]
        assert sizes == [{(6, 6)}, {(6, 6)}, {(10, 14)}] and len(loader) == 3

    def test_a_scene_smaller_than_the_crop_stays_whole(self):
        x, y = scenes()
        assert next(iter(Scenes(x, y, 2, crop=12, crop_epochs=1)))[0].shape == (2, 3, 10, 12)


class TestRows:
    def test_only_augerino_learns_and_each_penalty_has_its_row(self):
        settings = CamVid()
        learning = [
            row
            for row in rows(settings)
            if any(p.requires_grad for p in make_augmentation(settings, row).parameters())
        ]
        assert {row.regularizer for row in learning} == REGULARIZERS.keys() and {
            row.kind for row in learning
        } == {"learned"}

    def test_they_start_where_the_settings_say(self):
        settings = CamVid(rotate_start=0.4, translate_start=3.0)
        none, fixed, *learned = (make_augmentation(settings, row) for row in rows(settings))
        assert none.extent == {} and fixed.extent["rotate"] == pytest.approx(math.pi)
        assert max(value for name, value in fixed.extent.items() if name != "rotate") < 1e-3
        for augmentation in learned:
            assert isinstance(augmentation.distribution, ag.Gaussian)
            assert augmentation.extent == pytest.approx(
                {"rotate": 0.4, "translate_x": 3.0, "translate_y": 3.0}
            )

    def test_the_papers_preset_is_the_papers(self):
        paper = catalogue.find("camvid").presets["paper"]
        assert (paper.net, paper.epochs, paper.batch_size, paper.crop, paper.downscale) == (
            "fc_densenet67",
            1000,
            4,
            224,
            1,
        )


def test_every_row_trains_and_the_learned_ones_move():
    settings = CamVid(
        epochs=2, batch_size=4, net="fc_densenet_small", crop=8, warm_up=0.0, augmentation_lr=0.1
    )
    x, y = scenes()
    for row in rows(settings):
        model, history = train_row(settings, row, 0, x, y, len(CLASSES))
        assert len(history.epochs) == 2 and not model.training
        assert confusion_of(model, x, y, len(CLASSES)).sum() == y.numel()
        if row.kind == "learned":
            assert model.augmentation.extent != pytest.approx(
                make_augmentation(settings, row).extent, abs=1e-4
            )


def test_a_perfect_model_is_never_confused():
    class Reader(torch.nn.Module):
        def forward(self, x):
            return (
                torch.nn.functional.one_hot((x[:, 0] * 255 / 20).round().long(), len(CLASSES))
                .movedim(-1, 1)
                .float()
            )

    x, y = scenes()
    y[:, 0] = IGNORE
    x[:, :, 0] = 0
    found = confusion_of(Reader(), x, y, len(CLASSES), batch_size=5)
    assert found.sum() == found.diagonal().sum() == (y != IGNORE).sum()


def test_the_loss_at_a_scale_is_that_of_scenes_so_moved():
    """Transformed scenes raise the loss of a position-dependent network; others do not."""
    height, width = 12, 12
    scores = torch.zeros(2, height, width)
    scores[0, :, :6], scores[1, :, 6:] = 2.0, 2.0

    class Place(torch.nn.Module):
        def forward(self, x):
            return scores.expand(len(x), -1, -1, -1)

    y = scores.argmax(0).to(torch.uint8).expand(4, -1, -1).clone()
    y[:, 0] = IGNORE
    model = ag.EquivariantModel(
        Place(),
        ag.Augmentation(ag.RotoTranslate2d(), ag.Gaussian([0.0] * 3, 1.0)),
        average=ag.mean_log_prob,
    )
    x = torch.zeros(4, 3, height, width, dtype=torch.uint8)
    places = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 2.0))
    still, turned, across, down = (loss_at(model, x, y, scales) for scales in places)
    assert still == pytest.approx(math.log1p(math.exp(-2)), abs=1e-5)
    assert turned > still + 0.1 and across > still + 0.1 and down == pytest.approx(still, abs=1e-4)
    assert loss_at(model, x, y, (1.0, 0.0, 0.0)) == turned


def test_label_maps_come_back_from_their_text_and_have_their_colors():
    labels = torch.tensor([[[0, 10, IGNORE], [3, 7, 1]]])
    assert torch.equal(from_text(to_text(labels)), labels)
    assert colored(labels)[0, :, 0, 1].mul(255).round().tolist() == list(COLORS["bicyclist"])
    assert colored(labels)[0, :, 0, 2].sum() == 0
