"""Overlaps, F1, bootstrap intervals, and the contestants."""

import math
from types import SimpleNamespace

import pytest

import augerino as ag
from augerino.benchmark import (
    CONTESTANTS,
    Contestant,
    Reading,
    contestant,
    contestants,
    embedded,
    score,
    summarize,
)
from augerino.benchmark.scoring import compare, f1
from augerino.learning.released import NEAR_ZERO, WIDE, ReleasedPenalty, informed_start

PROBLEMS = {problem.name: problem for problem in embedded()}
SOFT, NONE = PROBLEMS["soft-rotate-sprites-clean"], PROBLEMS["none-rotate-sprites-clean"]
FULL, SIDES = PROBLEMS["full-rotate-letters-clean"], PROBLEMS["sides-horizontal-letters-clean"]
MIRROR = PROBLEMS["pair-rotate-mirror-letters-clean"]


def knowing(problem, seed):
    return dict.fromkeys(problem.transform.names, 0.5) | problem.true


@pytest.mark.parametrize(
    "problems", [[SOFT], [NONE], [FULL], [SIDES], [MIRROR], list(PROBLEMS.values())]
)
def test_the_true_extents_have_the_best_score(problems):
    found = score(Contestant("knows", knowing), problems, seeds=2)
    assert found.overlap.mean == found.overlap.low == found.f1.mean == found.f1.low == 1


@pytest.mark.parametrize(
    ("true", "learned", "overlap"),
    [
        (1.0, 0.5, 0.5),
        (1.0, 2.0, 0.5),
        (1.0, 9.0, 1 / 3),
        (0.0, 0.0, 1.0),
        (0.0, 0.75, 0.75),
        (0.0, 9.0, 0.0),
        (3.0, 9.0, 1.0),
    ],
)
def test_overlap_is_intersection_over_union_or_the_unused_fraction_of_the_limit(
    true, learned, overlap
):
    assert Reading("rotate", true, 3.0, 0.06, learned).overlap == pytest.approx(overlap)


def test_the_set_score_counts_found_and_missed_over_all_problems():
    def reading(there, found):
        return Reading("x", 0.5 * there, 1.0, 0.02, 0.5 * found)

    assert f1([reading(1, 1), reading(1, 1), reading(1, 0), reading(0, 1)]) == pytest.approx(
        2 * 2 / (2 * 2 + 2)
    )
    assert f1([reading(0, 0)]) == 1 and f1([reading(0, 1)]) == 0


def test_a_flip_is_found_from_a_tenth_on():
    (below,), (above,) = (compare(SIDES, 0, {"flip_horizontal": p}).readings for p in (0.09, 0.11))
    assert not below.found and above.found and above.overlap == pytest.approx(1 - 0.11 / 0.5)


def test_the_constant_contestants_score_as_geometry_says():
    widest, none = (score(contestant(name), [SOFT, NONE], seeds=1) for name in ("widest", "none"))
    assert widest.overlap.mean == pytest.approx(
        (0.25 + 0) / 2
    ) and none.overlap.mean == pytest.approx((0 + 1) / 2)
    assert widest.f1.mean == pytest.approx(2 / 3) and none.f1.mean == 0


def test_the_interval_holds_the_mean_and_closes_on_one_seed():
    def wavering(problem, seed):
        return dict.fromkeys(problem.transform.names, 0.4 + 0.1 * seed)

    several = score(Contestant("wavers", wavering), [SOFT, FULL], seeds=4)
    assert several.overlap.low < several.overlap.mean < several.overlap.high
    assert "to" in str(several.overlap) and len(several.of(SOFT.name)) == 4
    single = score(Contestant("wavers", wavering), [SOFT], seeds=[2])
    assert single.overlap.low == single.overlap.high and "to" not in str(single.overlap)


def test_invalid_contestants_and_problems_are_rejected():
    with pytest.raises(ag.InputError, match="returned none for rotate"):
        score(Contestant("silent", lambda problem, seed: {}), [SOFT], seeds=1)
    with pytest.raises(ag.InputError, match="nothing to score for 'mine'"):
        summarize("mine", [])
    with pytest.raises(ag.InputError, match="nothing to score for 'widest'"):
        score(contestant("widest"), [], seeds=1)
    with pytest.raises(ag.InputError, match="needs a distinct name"):
        score(contestant("widest"), [SOFT, SOFT], seeds=1)
    for wrong in (math.nan, -1.0, math.inf):
        with pytest.raises(
            ag.InputError, match=f"at least 0, but a contestant returned {wrong} for rotate"
        ):
            compare(SOFT, 0, {"rotate": wrong})
    with pytest.raises(ag.InputError, match="no contestant 'prob'"):
        contestant("prob")


@pytest.mark.parametrize("name", CONTESTANTS)
def test_every_contestant_runs_on_every_kind_of_coordinate(name):
    recipe = ag.Recipe(epochs=1, batch_size=32, width=2)
    problem = ag.benchmark.Problem("small", MIRROR.base, MIRROR.transform, MIRROR.axes, n_items=96)
    run = contestant(name, recipe=recipe).run
    found = run(problem, 0)
    assert set(found) == {"rotate", "flip_horizontal"} and all(
        math.isfinite(value) for value in found.values()
    )
    assert found == run(problem, 0) and 0 <= found["flip_horizontal"] <= 0.5


@pytest.mark.parametrize(
    ("name", "expected", "rotate", "regularizer"),
    [
        ("probe", {"method": "probe", "tolerance": 0.07}, 0.3, type(None)),
        (
            "squares",
            {"method": "gradient", "reg_weight": 0.07},
            0.3,
            type(None),
        ),  # what `learn` has by default
        (
            "squares-informed",
            {"method": "gradient", "reg_weight": 0.07, "warm_up": 0.1},
            WIDE,
            ag.NegativeL2,
        ),
        (
            "released",
            {"method": "gradient", "reg_weight": 0.07, "augmentation_lr": 0.01, "warm_up": 0.0},
            WIDE,
            ReleasedPenalty,
        ),
        ("log-volume", {"method": "gradient", "reg_weight": 0.07}, 0.3, ag.LogVolume),
    ],
)
def test_each_contestant_runs_the_method_of_its_name(
    name, expected, rotate, regularizer, monkeypatch
):
    given = {}

    def learn(net, data, *, recipe, augmentation, regularizer=None, **others):
        given.update(recipe=recipe, augmentation=augmentation, regularizer=regularizer)
        return SimpleNamespace(augmentation=augmentation)

    monkeypatch.setattr(contestants, "learn", learn)
    contestant(name, 0.07).run(SOFT, 0)
    assert {field: getattr(given["recipe"], field) for field in expected} == expected
    assert given["augmentation"].extent["rotate"] == pytest.approx(rotate)
    others = [bound for other, bound in given["augmentation"].extent.items() if other != "rotate"]
    assert (
        others == pytest.approx([0.3] * len(others))
        if rotate == 0.3
        else max(others) == pytest.approx(NEAR_ZERO)
    )
    assert isinstance(given["regularizer"], regularizer)


def test_the_released_penalty_is_on_full_widths_and_ends_past_a_width_of_ten():
    def penalty(rotate, shift):
        augmentation = ag.Augmentation(
            ag.Affine2d("rotate", "translate_x"), ag.Uniform([rotate, shift])
        )
        return ReleasedPenalty(augmentation.names)(augmentation).item()

    assert penalty(1.5, 0.2) == pytest.approx(
        -math.hypot(3.0, 4.0)
    )  # its translations are scaled by a tenth
    assert penalty(4.95, 1e-4) == pytest.approx(-9.9, rel=1e-4) and penalty(5.05, 1e-4) == 0


def test_a_recipe_is_scored_as_learn_runs_it():
    problem = ag.benchmark.Problem("small", NONE.base, NONE.transform, NONE.axes, n_items=96)
    recipe = ag.Recipe(
        epochs=1, batch_size=32, width=2, start=0.2, method="gradient", augmentation_lr=1e-6
    )
    found = score(recipe, [problem], seeds=1)
    assert found.outcomes[0].learned == pytest.approx(
        {"translate_x": 0.2, "translate_y": 0.2, "rotate": 0.2}, rel=1e-3
    )


def test_only_contestants_with_a_lambda_depend_on_it():
    problem = ag.benchmark.Problem("small", SOFT.base, ag.Affine2d("rotate"), SOFT.axes, n_items=96)
    recipe = ag.Recipe(epochs=3, batch_size=32, width=2, warm_up=0.0, augmentation_lr=0.1)
    for name in ("squares", "squares-informed", "released", "log-volume"):
        low, high = (
            contestant(name, reg_weight, recipe).run(problem, 0)["rotate"]
            for reg_weight in (0.0, 100.0)
        )
        assert high > low, name


def test_the_informed_start_is_the_released_one():
    limits = {"rotate": math.pi, "scale": 1.0, "translate_x": 1.0, "flip_horizontal": 0.5}
    start = informed_start(limits, {"rotate", "flip_horizontal"})
    wanted = {
        "rotate": WIDE,
        "scale": NEAR_ZERO,
        "translate_x": NEAR_ZERO / 10,
        "flip_horizontal": WIDE / 2,
    }
    assert start == pytest.approx(wanted)


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
def test_standing_still_is_no_answer(problem):
    """An answer near a start would be found by doing nothing."""
    limits = {name: problem.limit(name) for name in problem.transform.names}
    informed = informed_start(limits, {name for name, extent in problem.true.items() if extent > 0})
    equal = contestant("start").run(problem, 0)
    for axis, answer in zip(problem.axes, problem.answers, strict=True):
        if answer.true > 0:
            for start in (informed, equal):
                assert (
                    Reading(
                        answer.coordinate,
                        answer.true,
                        answer.limit,
                        answer.threshold,
                        start[axis.name],
                    ).overlap
                    < 0.86
                )
