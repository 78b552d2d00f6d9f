"""Every problem's true extents are exact: checked on the items that it draws."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch

import augerino as ag
from augerino.benchmark import (
    HARD,
    Arrows,
    Axis,
    Images,
    Problem,
    Pulses,
    embedded,
    figures,
    hard,
    letters,
)
from augerino.benchmark.axis import FLIP_KINDS, coordinate_at, position_of

PROBLEMS = embedded()
SOFT = [(problem, axis) for problem in PROBLEMS for axis in problem.axes if axis.kind == "soft"]


def named(cases):
    return [f"{problem.name} {axis.name}" for problem, axis in cases]


def reached(axis, theta):
    """How far ±theta moves items up and down."""
    up, down = (
        float(position_of(axis.name, torch.tensor(side * theta, dtype=torch.float64)))
        for side in (1, -1)
    )
    return up, down


def place_at(problem, axis, base, place):
    """Base items at one place along an axis, at place 0 (or the first pose) of the others."""
    positions = torch.zeros(len(base), len(problem.axes))
    positions[:, problem.axes.index(axis)] = place
    return problem.move(base, positions)


def moved(problem, axis, x, t):
    coordinates = torch.zeros(len(x), len(problem.transform.names))
    coordinates[:, problem.transform.names.index(axis.name)] = t
    return problem.transform(x, coordinates)


def distance(x, y):
    """The difference of each item from its counterpart, relative to its norm."""
    level = (
        x.flatten(1).median(dim=1).values.reshape(-1, *[1] * (x.dim() - 1)) if x.dim() == 4 else 0.0
    )
    return (x - y).flatten(1).norm(dim=1) / (x - level).flatten(1).norm(dim=1).clamp_min(1e-3)


def some_base(problem, n=12):
    return problem.base.draw(
        torch.arange(n) % problem.base.n_classes, torch.Generator().manual_seed(1)
    )


def test_there_are_enough_of_every_kind_and_difficulty():
    assert len(PROBLEMS) >= 24 and len({problem.name for problem in PROBLEMS}) == len(PROBLEMS)
    assert {problem.difficulty for problem in PROBLEMS} == {"clean", "noisy", "few"}
    soft = {axis.name for _, axis in SOFT}
    assert soft >= {
        "rotate",
        "translate_x",
        "translate_y",
        "scale",
        "shear",
        "brightness",
        "contrast",
        "time_shift",
        "rotate_z",
    }
    kinds = [axis.kind for problem in PROBLEMS for axis in problem.axes]
    assert set(kinds) == {"soft", "target", "full", "sides", "mirrored", "swapped"}
    pairs = [
        sorted(answer.true > 0 for answer in problem.answers)
        for problem in PROBLEMS
        if len(problem.axes) == 2
    ]
    assert pairs.count([False, True]) >= 3 and pairs.count([True, True]) >= 3


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_each_difficulty_matches_its_name(problem):
    assert (problem.n_items <= 300) == (problem.difficulty == "few")
    assert (problem.base.noise > 0) == (problem.base.clutter > 0) == (problem.difficulty == "noisy")
    one, other = (
        problem.base.draw(torch.zeros(1, dtype=torch.long), torch.Generator().manual_seed(seed))
        for seed in (1, 1)
    )
    assert torch.equal(one, other)
    if problem.difficulty == "noisy":
        bare = dataclasses.replace(problem.base, noise=0.0, clutter=0)
        assert (
            bare.draw(torch.zeros(1, dtype=torch.long), torch.Generator().manual_seed(1)) - one
        ).abs().max() > 0.05


@pytest.mark.parametrize(("problem", "axis"), SOFT, ids=named(SOFT))
class TestSoft:
    def test_drawn_items_stay_apart_below_the_true_extent_and_meet_above(self, problem, axis):
        i, true = problem.axes.index(axis), problem.true[axis.name]
        drawn = problem.sample(1000, seed=0)
        for theta, apart in ((0.97 * true, True), (1.1 * true, False)):
            up, down = reached(axis, theta)
            ends = []
            for pose in range(axis.n_labels):
                places = drawn.positions[drawn.labels[:, 1 + i] == pose, i]
                ends.append((float(places.min()) + down, float(places.max()) + up))
            if axis.period is not None:
                ends.append((ends[0][0] + axis.period, ends[0][1] + axis.period))
            gaps = [low - high for (_, high), (low, _) in itertools.pairwise(ends)]
            assert min(gaps) > 0 if apart else min(gaps) < 0

    def test_the_same_item_under_two_labels_looks_alike_at_the_true_extent_and_not_before(
        self, problem, axis
    ):
        base, true = some_base(problem), problem.true[axis.name]
        lower, upper = next(
            (a, b) for a, b in itertools.pairwise(axis.poses) if b - a <= axis.gap + 1e-9
        )
        low, high = (
            place_at(problem, axis, base, p) for p in (lower + axis.extent, upper - axis.extent)
        )
        at = distance(moved(problem, axis, low, true), moved(problem, axis, high, -true))
        before = distance(
            moved(problem, axis, low, 0.7 * true), moved(problem, axis, high, -0.7 * true)
        )
        start = distance(low, high)
        assert (at < 0.5 * before).all() and (at < 0.12).all() and (start > 0.15).all()

    def test_moving_twice_is_moving_once_by_the_sum(self, problem, axis):
        base, true = some_base(problem), problem.true[axis.name]
        for pose, side in itertools.product(axis.poses, (-1, 1)):
            place = pose + side * axis.extent
            further = place + reached(axis, true)[0 if side > 0 else 1]
            twice = moved(problem, axis, place_at(problem, axis, base, place), side * true)
            once = place_at(problem, axis, base, further)
            assert (
                distance(once, twice) < 0.16
            ).all()  # a second warp blurs a little, for any label

    def test_nothing_is_lost_at_the_frame_nor_clipped(self, problem, axis):
        base, up = some_base(problem).double(), reached(axis, problem.true[axis.name])[0]
        for place in (axis.poses[-1] + axis.extent + up, axis.poses[0] - axis.extent - up):
            x = place_at(problem, axis, base, place)
            if axis.name in ("brightness", "contrast"):
                assert x.min() > 0 and x.max() < 1
                continue
            grown = {"scale": math.exp((2 if x.dim() == 4 else 1) * place)}.get(axis.name, 1.0)
            weight = [values.abs().flatten(1).sum(dim=1) for values in (base, x)]
            if x.shape[-1] != 3:  # points are never lost
                assert torch.allclose(weight[1], grown * weight[0], rtol=0.05)

    def test_no_class_in_one_pose_looks_like_another(self, problem, axis):
        classes = problem.base.n_classes
        base = problem.base.draw(torch.arange(classes), torch.Generator().manual_seed(2))
        views = torch.cat([place_at(problem, axis, base, pose) for pose in axis.poses])
        if isinstance(problem.base, Arrows):
            views = views.mean(dim=1)  # points come in no order
        for a, b in itertools.combinations(range(len(views)), 2):
            assert float((views[a] - views[b]).norm() / views.norm(dim=-1).amax()) > 0.1


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
class TestEvery:
    def test_items_come_from_their_seed_alone(self, problem):
        torch.manual_seed(7)
        x, y = problem.draw(40, seed=3)
        torch.manual_seed(8)
        again = problem.draw(40, seed=3)
        other = problem.draw(40, seed=4)
        assert (
            torch.equal(x, again[0]) and torch.equal(y, again[1]) and not torch.equal(x, other[0])
        )
        assert x.isfinite().all() and len(x) == len(y) == 40

    def test_targets_are_what_the_places_say(self, problem):
        drawn = problem.sample(200, seed=0)
        if problem.regression:
            assert drawn.y.shape == (200, problem.n_outputs) and drawn.y.abs().max() <= 1
            for i, axis in enumerate(problem.axes):
                if axis.kind == "target":
                    target = drawn.positions[:, i] / axis.extent
                    assert any(torch.allclose(target, column) for column in drawn.y.unbind(1))
        else:
            assert set(drawn.y.tolist()) == set(range(problem.n_outputs))
            assert drawn.y.bincount().max() - drawn.y.bincount().min() <= 1
            for i, axis in enumerate(
                problem.axes
            ):  # a label that says nothing of an axis goes with all of it
                if axis.kind == "full":
                    assert drawn.positions[:, i].abs().max() > 0.9 * problem.limit(axis.name)
                if axis.kind in FLIP_KINDS:
                    sides = {
                        (y, side)
                        for y, side in zip(
                            drawn.y.tolist(), drawn.positions[:, i].tolist(), strict=True
                        )
                    }
                    assert len(sides) == problem.n_outputs * (1 if axis.kind == "sides" else 2)

    def test_the_axes_commute(self, problem):
        """Or extents found together would not be those of each alone."""
        if len(problem.axes) < 2:
            return
        base = some_base(problem, 4)
        t = torch.zeros(4, len(problem.transform.names))
        first, second = t.clone(), t.clone()
        for part, axis, value in zip((first, second), problem.axes, (0.3, 0.2), strict=True):
            part[:, problem.transform.names.index(axis.name)] = (
                1.0 if axis.kind in FLIP_KINDS else value
            )
        forth = problem.transform(problem.transform(base, first), second)
        back = problem.transform(problem.transform(base, second), first)
        if {axis.kind for axis in problem.axes} & set(
            FLIP_KINDS
        ):  # mirroring turns a move round, and ranges are as wide both ways
            turned = torch.where(second.abs() == 1, second, -second)
            first_turned = torch.where(first.abs() == 1, first, -first)
            back = problem.transform(problem.transform(base, turned), first_turned)
        assert (distance(forth, back) < 0.12).all()


class TestAxis:
    def test_contrasts_add_up_as_logarithms_of_slopes(self):
        t = torch.linspace(-0.5, 0.5, 11, dtype=torch.float64)
        assert torch.allclose(coordinate_at("contrast", position_of("contrast", t)), t)
        x, contrast = (
            torch.linspace(0.45, 0.55, 8, dtype=torch.float64).reshape(1, 1, 2, 4),
            ag.Contrast(),
        )
        a, b = (
            coordinate_at("contrast", torch.tensor([[p]], dtype=torch.float64)) for p in (0.3, 0.4)
        )
        once = contrast(x, coordinate_at("contrast", torch.tensor([[0.7]], dtype=torch.float64)))
        assert torch.allclose(contrast(contrast(x, a), b), once)

    def test_poses_on_a_circle_have_neighbours_both_ways(self):
        assert Axis("rotate", "soft", (0.0, 1.5 * math.pi), 0.1).gap == pytest.approx(math.pi / 2)
        assert Axis("translate_x", "soft", (-0.3, 0.5), 0.1).answer(1.0) == pytest.approx(0.3)

    @pytest.mark.parametrize(
        ("axis", "message"),
        [
            (("rotate", "soft", (0.0,), 0.1), "two or more ascending poses"),
            (("rotate", "soft", (1.0, 0.0), 0.1), "two or more ascending poses"),
            (("translate_x", "soft", (-0.2, 0.2), 0.2), "two poses would share items"),
            (("scale", "target"), "needs an extent above 0"),
            (
                ("rotate", "sooft", (0.0, 1.0), 0.1),
                "one of soft, target, full, sides, mirrored, swapped, but rotate is 'sooft'",
            ),
        ],
    )
    def test_an_axis_without_an_answer_is_rejected(self, axis, message):
        with pytest.raises(ag.InputError, match=message):
            Axis(*axis)


class TestProblem:
    def test_any_pictures_make_a_base(self):
        pictures = np.random.default_rng(0).integers(0, 256, (6, 20, 20), dtype=np.uint8)
        base = Images.of(pictures, np.arange(6) // 2, radius=0.5)
        assert base.images.shape == (6, 1, 20, 20) and base.n_classes == 3
        assert base.images[..., 0].max() == 0 and base.images.max() <= 1
        problem = Problem(
            "mine",
            base,
            ag.Affine2d("translate_x"),
            (Axis("translate_x", "soft", (-0.2, 0.2), 0.1),),
        )
        assert problem.true == pytest.approx({"translate_x": 0.1}) and problem.n_outputs == 6

    def test_an_archive_makes_a_base(self, tmp_path):
        pictures = np.random.default_rng(0).integers(0, 256, (4, 20, 20, 3), dtype=np.uint8)
        np.savez(tmp_path / "mine.npz", images=pictures, labels=[0, 1, 0, 1])
        base = Images.load(tmp_path / "mine.npz", radius=0.9)
        assert base.images.shape == (4, 3, 20, 20) and base.n_classes == 2
        assert torch.equal(
            base.images, Images.of(pictures.transpose(0, 3, 1, 2), [0, 1, 0, 1], radius=0.9).images
        )
        assert torch.equal(
            base.images, Images.of(pictures.astype(np.int64), [0, 1, 0, 1], radius=0.9).images
        )
        assert torch.equal(
            base.images, Images.of(pictures[:, ::-1][:, ::-1], [0, 1, 0, 1], radius=0.9).images
        )
        np.savez(tmp_path / "other.npz", x=pictures)
        with pytest.raises(ag.InputError, match="should hold an array 'images', but has: x"):
            Images.load(tmp_path / "other.npz")

    def test_coordinates_that_no_axis_names_are_not_scored(self):
        problem = PROBLEMS[0]
        assert len(problem.transform.names) > len(problem.answers) == 1

    @pytest.mark.parametrize(
        ("transform", "axes", "message"),
        [
            (
                ag.Affine2d("scale"),
                (Axis("rotate", "full"),),
                "must name coordinates of its transform",
            ),
            (ag.Affine2d("scale"), (), "but are none"),
            (ag.Flip("horizontal"), (Axis("flip_horizontal", "full"),), "cannot be 'full'"),
            (ag.Affine2d("rotate"), (Axis("rotate", "sides"),), "cannot be 'sides'"),
            (
                ag.Affine3d("translate_x"),
                (Axis("translate_x", "target", extent=0.1),),
                "has no limit",
            ),
            (
                ag.Affine2d("translate_x"),
                (Axis("translate_x", "soft", (-5.0, 5.0), 0.1),),
                "would have a true extent of 4.9, beyond its limit of 1",
            ),
        ],
    )
    def test_axes_must_fit_the_transform(self, transform, axes, message):
        with pytest.raises(ag.InputError, match=message):
            Problem("wrong", Pulses(), transform, axes)

    def test_a_picture_that_is_not_square_keeps_its_shape(self):
        wide = torch.ones(2, 1, 10, 20)
        base = Images.of(wide, radius=1.0, blur=0.0)
        assert base.images.shape == (2, 1, 20, 20)
        assert base.images[0, 0, :4].max() == 0 and base.images[0, 0, 8:12, 8:12].min() == 1

    @pytest.mark.parametrize(
        ("images", "options", "message"),
        [
            (torch.full((2, 1, 8, 8), 2.0), {}, "range from 2 to 2"),
            (torch.full((2, 1, 8, 8), 300), {}, "range from 300 to 300"),
            (torch.full((2, 1, 8, 8), math.nan), {}, "all finite"),
            (torch.zeros(0, 1, 8, 8), {}, r"but are \(0, 1, 8, 8\)"),
            (torch.zeros(2, 1, 8, 8), {"radius": -1.0}, "radius above 0 and at most 1"),
            (torch.zeros(2, 1, 8, 8), {"blur": -1.0}, "blur of at least 0"),
            (
                torch.zeros(2, 1, 8, 8),
                {"labels": np.array(["a", "b"])},
                "Labels of base images must be a tensor or an array",
            ),
            (torch.zeros(2, 1, 8, 8), {"labels": np.array([0.0, 1.0])}, "must be integers"),
        ],
    )
    def test_invalid_base_images_are_rejected(self, images, options, message):
        with pytest.raises(ag.InputError, match=message):
            Images.of(images, **options)

    def test_images_need_a_label_each(self):
        with pytest.raises(ag.InputError, match="one label each"):
            Images(torch.zeros(3, 1, 8, 8), torch.zeros(2))
        with pytest.raises(ag.InputError, match="without gaps"):
            Images(torch.zeros(2, 1, 8, 8), torch.tensor([0, 2]))

    def test_a_start_is_a_bound_or_for_a_flip_the_probability_of_the_same_spread(self):
        problem = next(p for p in PROBLEMS if p.name == "pair-rotate-mirror-letters-clean")
        assert problem.extents(problem.augmentation(0.3)) == pytest.approx(
            {"rotate": 0.3, "flip_horizontal": 0.15}
        )
        given = problem.augmentation({"rotate": 0.1, "flip_horizontal": 0.5})
        assert problem.extents(given) == pytest.approx({"rotate": 0.1, "flip_horizontal": 0.499})


def test_our_pictures_differ_from_themselves_turned_or_mirrored():
    for images, _ in (letters(), figures()):
        flat = images - images.mean(dim=(1, 2, 3), keepdim=True)
        for other in (
            flat.flip(-1),
            flat.flip(-2),
            flat.rot90(2, (2, 3)),
            flat.rot90(1, (2, 3)),
            flat.rot90(1, (2, 3)).flip(-1),
        ):
            alike = torch.nn.functional.cosine_similarity(
                flat.flatten(1)[:, None], other.flatten(1)[None], dim=-1
            )
            assert alike.max() < 0.9


def test_the_hard_level_takes_the_files_that_are_there(tmp_path, monkeypatch):
    monkeypatch.setenv("AUGERINO_CACHE", str(tmp_path / "cache"))
    assert hard(tmp_path) == () == hard(None)
    rng, labels = np.random.default_rng(0), (np.arange(60) % 10).astype(np.uint8)
    np.savez(
        tmp_path / "mnist.npz",
        x_train=rng.integers(0, 256, (60, 28, 28), dtype=np.uint8),
        y_train=labels,
    )
    digits = hard(tmp_path)
    np.savez(
        tmp_path / "cifar10.npz",
        x_train=rng.integers(0, 256, (60, 32, 32, 3), dtype=np.uint8),
        y_train=labels,
    )
    both = hard(tmp_path)
    assert (
        0 < len(digits) < len(both)
        and tuple(problem.name for problem in both) == HARD
        and {problem.difficulty for problem in both} == {"hard"}
    )
    for problem in both:
        x, _ = problem.draw(18, seed=0)
        assert (
            problem.base.n_classes == 3 and x[..., 0, 0].max() == 0
        )  # black corners, that no turn brings in
