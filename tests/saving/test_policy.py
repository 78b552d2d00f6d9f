"""A learned augmentation as JSON: readable, versioned, exact."""

import json

import pytest
import torch

import augerino as ag
from augerino.saving.policy import Policy

FACTOR = [[0.5, 0.0], [0.1, 0.2]]
MEMBERS = {
    "uniform": lambda: ag.Augmentation(
        ag.Affine2d(padding="border"), ag.Uniform([0.1, 0.2, 3.0, 1e-5, 0.4, 0.3])
    ),
    "interval": lambda: ag.Augmentation(ag.Affine2d("scale"), ag.Interval([-0.1], [0.3])),
    "gaussian": lambda: ag.Augmentation(
        ag.Affine2d("rotate", "scale"), ag.Gaussian([0.1, 0.0], FACTOR)
    ),
    "rates": lambda: ag.Augmentation(
        ag.Affine2d("rotate", "scale"), ag.Uniform([0.7, 0.1], rate=[77 / 256, 1.0])
    ),
    "color": lambda: ag.Augmentation(ag.Contrast(), ag.Uniform([0.25])),
    "flip": lambda: ag.Augmentation(ag.Flip("vertical"), ag.Bernoulli([0.3])),
    "on": lambda: ag.Augmentation(ag.On("image", ag.Affine2d("rotate")), ag.Uniform([0.7])),
    "rigid": lambda: ag.Augmentation(
        ag.RotoTranslate2d(padding=0.25, limit=60.0),
        ag.Gaussian([0.1, 0.0, -2.0], [[0.5, 0, 0], [0.1, 2.0, 0], [0.3, -1.0, 3.0]]),
    ),
    "signal": lambda: ag.Chain(
        ag.Augmentation(ag.TimeShift(padding="circular"), ag.Uniform([0.2])),
        ag.Augmentation(ag.TimeScale(padding="border"), ag.Uniform([0.1])),
        ag.Augmentation(ag.Gain(), ag.Uniform([0.5])),
        ag.Augmentation(ag.NoiseLevel(), ag.Uniform([0.05])),
    ),
    "space": lambda: ag.Augmentation(
        ag.On("positions", ag.Affine3d("rotate_z"), where="mask"), ag.Uniform([0.7])
    ),
    "haar": lambda: ag.Chain(
        ag.Augmentation(ag.Affine3d("rotate_x", "rotate_y", "rotate_z"), ag.Haar()),
        ag.Augmentation(ag.Affine3d("translate_x"), ag.Uniform([2.0])),
    ),
    "chain": lambda: ag.Chain(MEMBERS["uniform"](), MEMBERS["color"](), MEMBERS["flip"]()),
}


@pytest.mark.parametrize("make", MEMBERS.values(), ids=MEMBERS.keys())
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_round_trip_through_a_file_is_exact(tmp_path, make, dtype):
    original = make().to(dtype)
    for parameter in original.parameters():
        parameter.data += torch.randn_like(parameter) * 0.1  # no round numbers
    ag.Policy.of(original).save(tmp_path / "p.json")
    loaded = ag.Policy.load(tmp_path / "p.json").augmentation()
    assert loaded.names == original.names and str(loaded) == str(original)
    assert repr(loaded.transform.settings()) == repr(original.transform.settings())
    for (name, a), (other, b) in zip(
        original.named_parameters(), loaded.named_parameters(), strict=True
    ):
        assert name == other and torch.equal(a, b) and a.dtype == b.dtype
    draws = [aug.sample(4, torch.Generator().manual_seed(0)).t for aug in (original, loaded)]
    assert torch.equal(*draws)
    assert ag.Policy.of(loaded) == Policy.load(tmp_path / "p.json")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_survives_too(tmp_path, dtype):
    original = MEMBERS["uniform"]().to(dtype)
    ag.Policy.of(original).save(tmp_path / "p.json")
    loaded = ag.Policy.load(tmp_path / "p.json").augmentation()
    assert torch.equal(loaded.distribution.raw_bound, original.distribution.raw_bound)


@pytest.mark.parametrize("raw", [-1e4, -100.0, -70.0, 60.0, 500.0])
@pytest.mark.parametrize("kind", ["uniform", "gaussian", "flip", "interval"])
def test_extreme_parameters_survive_too(tmp_path, kind, raw):
    original = MEMBERS[kind]()
    for name, parameter in original.named_parameters():
        if "raw" in name:
            parameter.data.fill_(raw)
    ag.Policy.of(original).save(tmp_path / "p.json")
    loaded = ag.Policy.load(tmp_path / "p.json").augmentation()
    for a, b in zip(original.parameters(), loaded.parameters(), strict=True):
        assert torch.equal(a, b)


def test_it_is_readable(tmp_path):
    ag.Policy.of(ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([0.7854]))).save(
        tmp_path / "p.json"
    )
    data = json.loads((tmp_path / "p.json").read_text())
    assert data["version"] == 1 and data["summary"] == {"rotate": "±45.0°"}
    assert data["transform"] == {
        "kind": "Affine2d",
        "settings": {"names": ["rotate"], "padding": "zeros"},
    }
    assert data["distribution"]["settings"]["bound"] == pytest.approx([0.7854])


class Wave(ag.Transform):
    coordinates = (ag.Coordinate("wave"),)

    def forward(self, x, t):
        return x + t[:, :, None, None].sin()


def test_a_custom_transform(tmp_path):
    ag.Policy.of(ag.Augmentation(Wave(), ag.Uniform([0.5]))).save(tmp_path / "p.json")
    policy = ag.Policy.load(tmp_path / "p.json")
    assert isinstance(policy.augmentation({"Wave": Wave}).transform, Wave)
    with pytest.raises(ag.InputError, match="contains a Wave, which is not built in"):
        policy.augmentation()


def policy_data(**changes):
    data = json.loads(
        json.dumps(ag.Policy.of(ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([0.5]))).data)
    )
    data.update(changes)
    return data


def edited(**settings):
    data = policy_data()
    data["distribution"]["settings"].update(settings)
    return data


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not a readable policy"),
        ("{", "not a readable policy"),
        ("[" * 100_000, "not a readable policy"),
        ("[]", "not an augerino policy"),
        ('{"format": "other"}', "not an augerino policy"),
        (
            json.dumps(policy_data(version=2)),
            "policy of version 2, but this augerino reads version 1",
        ),
        (json.dumps(policy_data(transform={})), "damaged"),
        (
            json.dumps(
                policy_data(transform={"kind": "Affine2d", "settings": {"names": ["rotat"]}})
            ),
            "Did you mean 'rotate'",
        ),
        (
            json.dumps(policy_data(transform={"kind": "Affine2d", "settings": {"surprise": 1}})),
            "damaged",
        ),
        (json.dumps(policy_data(distribution=5)), "damaged"),
        (
            json.dumps(policy_data(run="rm -rf")),
            "has an unknown field 'run': remove it",
        ),
        (
            json.dumps(policy_data(transform={"kind": "Affine2d", "settings": {}, "reduce": "os"})),
            "has an unknown field 'reduce'",
        ),
        (json.dumps(policy_data(transform={"kind": ["Affine2d"], "settings": {}})), "damaged"),
        (
            json.dumps(policy_data(transform={"kind": "Affine2d", "settings": {"names": 5}})),
            "damaged",
        ),
        (json.dumps(edited(bound=[0.9])), "To use edited settings, delete its 'parameters'"),
        (
            json.dumps(edited(bound="wide")),
            "takes one number or a vector of numbers, but got 'wide'",
        ),
        (json.dumps(edited(bound=[10**400])), "damaged"),
        (json.dumps(edited(bound=[1e39])), "finite"),
        (json.dumps(edited(bound=[float("nan")])), "finite"),
        (
            '{"format": "augerino-policy", "version": 1, "transform": '
            + "[" * 900
            + "]" * 900
            + "}",
            "nested too deeply|damaged",
        ),
        (json.dumps(edited(bound=[-1])), "above 0"),
        (json.dumps(edited(bound=[0.1, 0.2])), "delete its 'parameters'"),
    ],
)
def test_damaged_foreign_and_newer_files_are_one_line_errors(tmp_path, content, message):
    (tmp_path / "p.json").write_text(content)
    with pytest.raises(ag.InputError, match=message):
        ag.Policy.load(tmp_path / "p.json")


def test_edited_settings_count_once_parameters_are_gone(tmp_path):
    data = edited(bound=[0.9])
    del data["distribution"]["parameters"]
    (tmp_path / "p.json").write_text(json.dumps(data))
    assert ag.Policy.load(tmp_path / "p.json").augmentation().extent["rotate"] == pytest.approx(0.9)


def test_a_parameter_of_another_shape_is_not_broadcast(tmp_path):
    data = json.loads(
        json.dumps(
            ag.Policy.of(
                ag.Augmentation(ag.Affine2d("rotate", "scale"), ag.Uniform([0.5, 0.5]))
            ).data
        )
    )
    data["distribution"]["parameters"]["raw_bound"] = data["distribution"]["parameters"][
        "raw_bound"
    ][0]
    (tmp_path / "p.json").write_text(json.dumps(data))
    with pytest.raises(
        ag.InputError, match="'settings' and the 'parameters' of the policy's Uniform disagree"
    ):
        ag.Policy.load(tmp_path / "p.json")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ag.InputError, match=r"Cannot read the policy .*No such file"):
        ag.Policy.load(tmp_path / "absent.json")


class _Moved(torch.utils.data.Dataset):
    def __init__(self, augment):
        self.augment = augment

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return self.augment(torch.rand(1, 1, 8, 8))[0]


def test_a_loaded_augmentation_works_in_the_processes_of_a_loader():
    policy = ag.Policy.of(ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([0.3])))
    augment = policy.augmentation()
    assert not augment(torch.rand(2, 1, 8, 8)).requires_grad
    (batch,) = torch.utils.data.DataLoader(_Moved(augment), batch_size=4, num_workers=1)
    assert batch.shape == (4, 1, 8, 8)
    assert augment.requires_grad_()(torch.rand(2, 1, 8, 8)).requires_grad
