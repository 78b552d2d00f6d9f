"""The experiment on molecules: its rows, what each of them draws, its errors in meV."""

import math

import pytest
import torch

import augerino as ag
from augerino.paper.experiments import qm9
from augerino.paper.experiments.settings import Row
from augerino.runtime.trials import trial_name

QUICK = qm9.EXPERIMENT.presets["quick"]
ALL = qm9.rows(qm9.EXPERIMENT.presets["paper"])
ROWS = {(row.variant, row.group, row.kind): row for row in ALL if row.method == "gradient"}


def molecules(n=6):
    mask = torch.arange(5) < torch.tensor([5, 2, 3, 4, 1, 5])[:n, None]
    positions = torch.randn(n, 5, 3) * mask[..., None]
    return {"positions": positions, "charges": torch.where(mask, 6, 0), "mask": mask}


def test_there_are_twelve_rows_beside_the_papers_numbers():
    assert len(ROWS) == 12 and len({trial_name(row.name, 0) for row in ALL}) == len(ALL) == 16
    assert [qm9.paper_error(row) for row in ALL if row.method == "probe"] == [None] * 4
    assert qm9.paper_error(ROWS["homo", "trivial", "none"]) == 52.7
    assert qm9.paper_error(ROWS["homo", "T3", "learned"]) == 33.2
    assert qm9.paper_error(ROWS["lumo", "trivial", "fixed"]) == 29.8
    assert qm9.paper_error(Row(name="GAP", kind="none", variant="gap", group="T3")) is None


def test_the_papers_settings_are_the_papers():
    paper = qm9.EXPERIMENT.presets["paper"]
    assert (paper.epochs, paper.lr, paper.batch_size, paper.width, paper.layers) == (
        500,
        3e-3,
        75,
        1536,
        6,
    )
    assert (paper.reg_weight, paper.n_train) == (1e-3, None)


@pytest.mark.parametrize("kind", ["none", "learned", "fixed"])
def test_padding_stays_zero_in_every_row(kind):
    x = molecules()
    moved = qm9.make_augmentation(QUICK, Row(name="x", kind=kind))(x)["positions"]
    assert not moved[~x["mask"]].any() and (kind == "none") == torch.allclose(
        moved, x["positions"], atol=1e-4
    )


def test_only_augerino_learns_and_starts_evenly():
    for kind in ("none", "fixed"):
        assert not [
            p
            for p in qm9.make_augmentation(QUICK, Row(name="x", kind=kind)).parameters()
            if p.requires_grad
        ]
    bounds = qm9.make_augmentation(QUICK, Row(name="x", kind="learned", start=0.4)).extent
    assert tuple(bounds) == ag.Affine3d().names and list(bounds.values()) == pytest.approx(
        [0.4] * 9
    )


def test_the_fixed_row_is_se3_with_uniform_rotations():
    augmentation = qm9.make_augmentation(QUICK, Row(name="x", kind="fixed"))
    x = molecules()
    moved = augmentation(x)["positions"]
    for before, after, mask in zip(x["positions"], moved, x["mask"], strict=True):
        assert torch.allclose(torch.pdist(before[mask]), torch.pdist(after[mask]), atol=1e-5)
    assert ag.paper.diagnostics.haar_deviation(augmentation).kolmogorov < 0.01
    middle = augmentation({"positions": torch.zeros(500, 1, 3), "mask": torch.ones(500, 1).bool()})[
        "positions"
    ]
    assert (
        middle.abs().amax((0, 1)) > 0.8 * QUICK.fixed_translate
    ).all() and middle.abs().max() <= QUICK.fixed_translate


def test_translations_pay_up_to_a_cap_and_the_rest_up_to_its_limits():
    augmentation = qm9.make_augmentation(QUICK, Row(name="x", kind="learned"))
    penalty = qm9.CappedL2(2.5)
    augmentation.distribution.bound = [2.0] * 3 + [3.0] * 3 + [0.5] * 3
    assert penalty(augmentation).item() == pytest.approx(ag.NegativeL2()(augmentation).item())
    augmentation.distribution.bound = [20.0] * 3 + [5.0] * 3 + [2.0] * 3
    assert penalty(augmentation).item() == pytest.approx(-3 * (2.5**2 + math.pi**2 + 1))
    (slope,) = torch.autograd.grad(penalty(augmentation), augmentation.distribution.raw_bound)
    assert not slope.any()


def test_the_two_networks_have_different_invariances():
    x = molecules()
    shifted = {**x, "positions": x["positions"] + x["mask"][..., None]}
    for group, invariant in (("T3", True), ("trivial", False)):
        net = qm9.make_net(QUICK, Row(name="x", kind="none", group=group)).eval()
        assert torch.allclose(net(x), net(shifted), atol=1e-5) == invariant


def test_errors_are_in_the_targets_own_unit():
    model = ag.InvariantModel(
        qm9.make_net(QUICK, Row(name="x", kind="none", group="T3")),
        qm9.make_augmentation(QUICK, Row(name="x", kind="none")),
    ).eval()
    x = molecules()
    with torch.no_grad():
        y = model(x) + torch.tensor([[1.0], [-1.0], [3.0], [-3.0], [0.0], [0.0]])
    found = qm9.errors(model, Row(name="x", kind="none"), (x, y), 440.0, seed=0, copies=(1, 4, 16))
    assert found == pytest.approx(dict.fromkeys(("1", "4", "16"), 440 * 8 / 6), rel=1e-4)


def test_the_table_names_the_learned_bounds_of_every_kind():
    bounds = dict.fromkeys(ag.Affine3d().names, 0.1) | {
        "rotate_x": 2.0,
        "rotate_y": 3.0,
        "rotate_z": math.pi,
        "translate_x": 0.7,
    }
    error = {"1": 300.0, "4": 290.0, "16": 280.0}
    trials = [
        {"row": row.name, "seed": 0, "test": error, "bounds": bounds} for row in qm9.rows(QUICK)
    ]
    lines = {line.row: line for line in qm9.table(QUICK, trials)}
    learned = lines["HOMO, LieConv-Trivial, Augerino"]
    assert learned.paper == "38.3 meV" and learned.measured.startswith(
        "300.0 | 290.0 | 280.0 meV at 1, 4, 16 copies; rotate ±2.00 to 3.14"
    )
    assert "translate ±0.10 to 0.70 Å" in learned.measured
    assert lines["HOMO, LieConv-T(3), no augmentation"].measured == "300.0 meV"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"targets": ("hmoo",)}, "no property 'hmoo'. Did you mean 'homo'"),
        ({"layers": 0}, "layers must be at least 1"),
        ({"lr_warm_up": 1.0}, "lr_warm_up must be at least 0 and below 1, but got 1.0"),
    ],
)
def test_invalid_settings_are_rejected(changes, message):
    with pytest.raises(ag.InputError, match=message):
        qm9.Qm9(**changes).check()
