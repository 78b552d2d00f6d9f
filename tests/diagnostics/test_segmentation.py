"""Label maps: the confusion matrix and the scores computed from it."""

import math

import pytest
import torch

import augerino as ag
from augerino.diagnostics.segmentation import confusion, iou, mean_iou, pixel_accuracy


def maps(seed=0, classes=4):
    generator = torch.Generator().manual_seed(seed)
    predicted, target = (torch.randint(classes, (3, 9, 7), generator=generator) for _ in range(2))
    target[torch.rand(target.shape, generator=generator) < 0.2] = 255
    return predicted, target


def test_every_known_pixel_is_counted_once_and_batches_add_up():
    predicted, target = maps()
    whole = confusion(predicted, target, 4)
    assert whole.sum() == (target != 255).sum()
    assert torch.equal(
        whole, sum(confusion(p, t, 4) for p, t in zip(predicted, target, strict=True))
    )
    assert whole[1, 2] == ((target == 1) & (predicted == 2)).sum()


def test_accuracy_and_iou_follow_their_definitions():
    predicted, target = maps()
    found, known = confusion(predicted, target, 4), target != 255
    assert pixel_accuracy(found) == pytest.approx(
        (predicted == target)[known].double().mean().item()
    )
    for label in range(4):
        a, b = (predicted == label) & known, target == label
        assert iou(found)[label] == pytest.approx(((a & b).sum() / (a | b).sum()).item())
    assert mean_iou(found) == pytest.approx(iou(found).mean().item())


def test_ignored_pixels_change_nothing():
    predicted, target = maps()
    other = torch.where(target == 255, 3 - predicted, predicted)
    assert torch.equal(confusion(other, target, 4), confusion(predicted, target, 4))
    assert torch.equal(
        confusion(predicted, target.where(target != 255, 9), 4, ignore=9),
        confusion(predicted, target, 4),
    )


def test_a_perfect_prediction_and_classes_that_do_not_occur():
    target = torch.tensor([[0, 1], [1, 255]])
    found = confusion(target.where(target != 255, 0), target, 5)
    assert pixel_accuracy(found) == mean_iou(found) == 1.0
    assert iou(found).isnan().tolist() == [False, False, True, True, True]


def test_without_valid_pixels_there_is_no_accuracy():
    found = confusion(torch.zeros(2, 3, dtype=torch.long), torch.full((2, 3), 255), 2)
    assert math.isnan(pixel_accuracy(found)) and math.isnan(mean_iou(found)) and found.sum() == 0


def test_shapes_and_labels_that_do_not_fit_are_reported():
    with pytest.raises(ag.InputError, match=r"the same shape, but are \(2, 3\) and \(3, 2\)"):
        confusion(torch.zeros(2, 3), torch.zeros(3, 2), 2)
    with pytest.raises(
        ag.InputError, match="labels are 0 to 1, but the true labels range from 0 to 7"
    ):
        confusion(torch.tensor([0, 1]), torch.tensor([0, 7]), 2)
    with pytest.raises(ag.InputError, match="the predicted labels range from 3 to 3"):
        confusion(torch.tensor([3]), torch.tensor([0]), 2)
