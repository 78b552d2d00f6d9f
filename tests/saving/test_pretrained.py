"""A model in a folder: restored exactly or rejected with a clear error, without executing it."""

import json
from pathlib import Path

import pytest
import torch
from torch import nn

import augerino as ag
from augerino.nets.fc_densenet import FCDenseNet
from augerino.nets.layer13 import Layer13
from augerino.nets.lieconv import LieResNet
from augerino.nets.points import SmallPointNet
from augerino.nets.registry import BUILT_IN
from augerino.nets.signal import SmallSignalNet
from augerino.nets.small import SmallCNN
from augerino.nets.steerable import SteerableCNN
from augerino.nets.unet import SmallUNet
from tests.conftest import need

X = torch.rand(3, 3, 16, 16)
NETS = {
    "SmallCNN": lambda: SmallCNN(3, 4, width=4),
    "Layer13": lambda: Layer13(3, 4, width=4, dropout=0.2),
    "SteerableCNN": lambda: SteerableCNN(3, 4, width=2, orientations=4),
}
OTHERS = {
    "SmallSignalNet": (lambda: SmallSignalNet(2, 4, width=4), torch.rand(3, 2, 40), ag.TimeShift()),
    "FCDenseNet": (
        lambda: FCDenseNet(3, 4, growth=2, layers=(1, 2, 1), first=4),
        X,
        ag.Affine2d("rotate"),
    ),
    "SmallUNet": (lambda: SmallUNet(3, 4, width=4), X, ag.Affine2d("rotate")),
    "SmallPointNet": (
        lambda: SmallPointNet(4, width=4),
        torch.rand(3, 9, 3),
        ag.Affine3d("rotate_z"),
    ),
    "LieResNet": (
        lambda: LieResNet(4, width=8, layers=1, species=()),
        torch.rand(3, 9, 3),
        ag.Affine3d("rotate_z"),
    ),
}


def rotation(bound=0.4321):
    return ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([bound]))


def model(net=None, **options):
    made = ag.InvariantModel(
        SmallCNN(3, 4, width=4) if net is None else net, rotation(), average=ag.mean_prob, **options
    )
    made(X)  # so that batch norms have seen something
    return made.eval()


def answer(made):
    torch.manual_seed(0)
    with torch.no_grad():
        return made(X)


@pytest.mark.parametrize("make", NETS.values(), ids=NETS.keys())
def test_a_built_in_network_needs_nothing_but_the_folder(tmp_path, make):
    saved = model(make(), train_copies=2, test_copies=3, chunk=5)
    ag.save_pretrained(saved, tmp_path / "m")
    loaded = ag.from_pretrained(tmp_path / "m")
    assert torch.equal(answer(loaded), answer(saved)) and not loaded.training
    assert (loaded.train_copies, loaded.test_copies, loaded.chunk, loaded.average) == (
        2,
        3,
        5,
        ag.mean_prob,
    )
    assert type(loaded.net) is type(saved.net) and loaded.net.settings() == saved.net.settings()
    assert {path.name for path in (tmp_path / "m").iterdir()} == {
        "model.safetensors",
        "policy.json",
        "config.json",
    }


@pytest.mark.parametrize("name", OTHERS)
def test_networks_of_other_data_come_back_too(tmp_path, name):
    make, x, transform = OTHERS[name]
    saved = ag.InvariantModel(make(), ag.Augmentation(transform, ag.Uniform([0.3])))
    saved(x)
    ag.save_pretrained(saved.eval(), tmp_path / "m")
    loaded = ag.from_pretrained(tmp_path / "m")
    with torch.no_grad():
        assert torch.equal(loaded.net(x), saved.net(x))


def test_every_built_in_network_is_tested_here():
    assert BUILT_IN.keys() == NETS.keys() | OTHERS.keys()


def test_an_equivariant_model_and_its_own_action_come_back(tmp_path):
    action = ag.Affine2d("rotate", padding="border")
    saved = ag.EquivariantModel(
        nn.Conv2d(3, 2, 3, padding=1), rotation(), action=action, average=ag.mean_log_prob
    ).eval()
    ag.save_pretrained(saved, tmp_path / "m")
    loaded = ag.from_pretrained(tmp_path / "m", net=nn.Conv2d(3, 2, 3, padding=1))
    assert type(loaded) is ag.EquivariantModel and loaded.action.padding == "border"
    assert torch.equal(answer(loaded), answer(saved))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_precision_is_kept(tmp_path, dtype):
    ag.save_pretrained(model().to(dtype), tmp_path / "m")
    assert {p.dtype for p in ag.from_pretrained(tmp_path / "m").parameters()} == {dtype}


def test_shared_weights_stay_shared(tmp_path):
    def tied():
        net = nn.Sequential(nn.Flatten(), nn.Linear(768, 768), nn.Linear(768, 768))
        net[2].weight = net[1].weight
        return net

    saved = model(tied())
    ag.save_pretrained(saved, tmp_path / "m")
    loaded = ag.from_pretrained(tmp_path / "m", net=tied())
    assert loaded.net[1].weight is loaded.net[2].weight and torch.equal(
        answer(loaded), answer(saved)
    )


def test_another_network_has_to_be_passed(tmp_path):
    class Mine(SmallCNN):
        """A subclass is another network: its forward may differ."""

    net = Mine(3, 4, width=4)
    ag.save_pretrained(model(net), tmp_path / "m")
    with pytest.raises(
        ag.InputError, match=r"Mine\) is part of neither augerino nor timm: build it and pass it"
    ):
        ag.from_pretrained(tmp_path / "m")
    loaded = ag.from_pretrained(tmp_path / "m", net=Mine(3, 4, width=4))
    assert type(loaded.net) is Mine
    with pytest.raises(
        ag.InputError,
        match=r"does not fit the weights .*'features\.0\.weight' is \(5, 3, 3, 3\) in the network",
    ):
        ag.from_pretrained(tmp_path / "m", net=Mine(3, 4, width=5))
    with pytest.raises(ag.InputError, match=r"'features\.0\.weight' is unknown to the network"):
        ag.from_pretrained(tmp_path / "m", net=nn.Identity())


def test_transforms_of_your_own_are_named_at_loading(tmp_path):
    class Curve(ag.Transform):
        coordinates = (ag.Coordinate("gamma"),)

        def forward(self, x, t):
            return x ** t.exp()[:, :, None, None]

    ag.save_pretrained(
        ag.InvariantModel(SmallCNN(3, 4), ag.Augmentation(Curve(), ag.Uniform([0.1]))),
        tmp_path / "m",
    )
    with pytest.raises(ag.InputError, match="contains a Curve, which is not built in"):
        ag.from_pretrained(tmp_path / "m")
    assert ag.from_pretrained(tmp_path / "m", kinds={"Curve": Curve}).augmentation.names == (
        "gamma",
    )


def test_a_custom_averaging_rule_is_rejected_before_anything_is_written(tmp_path):
    own = ag.Average("median", *[lambda y: y] * 3)
    with pytest.raises(ag.InputError, match="'median' is custom"):
        ag.save_pretrained(
            ag.InvariantModel(SmallCNN(3, 4), rotation(), average=own), tmp_path / "m"
        )
    assert not (tmp_path / "m").exists()


class TestFolders:
    def test_an_earlier_save_is_replaced_and_other_files_stay(self, tmp_path):
        ag.save_pretrained(model(), tmp_path / "m")
        (tmp_path / "m" / "notes.txt").write_text("mine")
        later = model()
        later.augmentation.distribution.bound = 0.9
        ag.save_pretrained(later, tmp_path / "m")
        assert torch.equal(answer(ag.from_pretrained(tmp_path / "m")), answer(later))
        assert (tmp_path / "m" / "notes.txt").read_text() == "mine"

    @pytest.mark.parametrize("name", ["thesis.txt", "config.json", "model.safetensors"])
    def test_a_folder_of_other_files_is_not_touched(self, tmp_path, name):
        (tmp_path / name).write_text("{}")
        with pytest.raises(ag.InputError, match="is not a saved model"):
            ag.save_pretrained(model(), tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == [name] and (
            tmp_path / name
        ).read_text() == "{}"

    def test_a_file_is_not_a_folder(self, tmp_path):
        (tmp_path / "file").write_text("mine")
        for path in ("file", "file/below"):
            with pytest.raises(
                ag.InputError, match=r"is not a saved model|Cannot create the folder"
            ):
                ag.save_pretrained(model(), tmp_path / path)

    def test_the_shape_of_inputs_is_kept_where_it_is_given(self, tmp_path):
        ag.save_pretrained(model(), tmp_path / "m", example=X)
        config = json.loads((tmp_path / "m" / "config.json").read_text())
        assert config["input"] == {"shape": [3, 16, 16], "dtype": "float32"}


class TestDamage:
    @pytest.fixture
    def folder(self, tmp_path) -> Path:
        ag.save_pretrained(model(), tmp_path / "m")
        return tmp_path / "m"

    def assert_rejected(self, folder, message):
        with pytest.raises(ag.InputError, match=message) as caught:
            ag.from_pretrained(folder)
        assert "\n" not in str(caught.value)

    def edit(self, folder, **changes):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **changes}))

    def test_a_missing_folder_or_file_is_named(self, folder, tmp_path):
        self.assert_rejected(tmp_path / "nowhere", "it has no config.json")
        for name in ("model.safetensors", "policy.json"):
            (folder / name).rename(tmp_path / name)
            self.assert_rejected(folder, name)
            (tmp_path / name).rename(folder / name)

    @pytest.mark.parametrize(
        "content", [b"", b"{", b"[]", b"{}", b"\xff\xfe", b'{"format": "augerino-policy"}']
    )
    def test_a_configuration_that_is_none(self, folder, content):
        (folder / "config.json").write_bytes(content)
        self.assert_rejected(folder, "config.json")

    def test_truncated_or_changed_weights_are_rejected(self, folder, tmp_path):
        whole = (folder / "model.safetensors").read_bytes()
        for content in (b"", whole[:50], whole[:-7], b"\x80\x04pickle"):
            (folder / "model.safetensors").write_bytes(content)
            self.assert_rejected(folder, r"model\.safetensors is not readable")
        (folder / "model.safetensors").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        self.assert_rejected(folder, "does not belong to config.json")

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"version": 2}, "version 2, but this augerino reads version 1"),
            ({"kind": "os.system"}, "does not hold the settings of a model"),
            ({"average": ["mean"]}, "does not hold the settings of a model"),
            ({"test_copies": "4"}, "does not hold the settings of a model"),
            ({"test_copies": 0}, "test_copies must be at least 1"),
            ({"chunk": 1.5}, "does not hold the settings of a model"),
            ({"net": None}, "does not describe a network"),
            ({"net": {"kind": "SmallCNN", "settings": [3, 4]}}, "does not describe a network"),
            (
                {"net": {"kind": "SmallCNN", "settings": {}}},
                "describes a SmallCNN that does not fit the weights",
            ),
            (
                {"net": {"kind": "SmallCNN", "settings": {"channels": "3", "n_outputs": 4}}},
                "describes a SmallCNN that does not fit",
            ),
            (
                {"net": {"kind": "SmallCNN", "settings": {"channels": 3, "n_outputs": 10**13}}},
                "does not fit the weights",
            ),
            (
                {"net": {"kind": "SmallCNN", "settings": {"channels": 3, "n_outputs": -1}}},
                "does not fit the weights",
            ),
            (
                {"net": {"kind": "builtins.exec", "settings": {}}},
                r"\(builtins\.exec\) is part of neither augerino nor timm",
            ),
            (
                {"action": {"kind": "os.system", "settings": {}}},
                "contains a os.system, which is not built in",
            ),
            ({"action": "rotate"}, "The policy is damaged|transform"),
        ],
    )
    def test_settings_that_make_no_model(self, folder, changes, message):
        self.edit(folder, **changes)
        if "action" in changes:
            self.edit(folder, kind="EquivariantModel")
        self.assert_rejected(folder, message)


@pytest.mark.extras
class TestTimm:
    def make(self, **options):
        need("timm")
        import timm

        return timm.create_model("resnet10t", pretrained=False, **options)

    def test_a_network_of_timm_is_rebuilt_from_its_name(self, tmp_path):
        saved = model(self.make(num_classes=4))
        ag.save_pretrained(saved, tmp_path / "m")
        assert (
            json.loads((tmp_path / "m" / "config.json").read_text())["net"]["name"] == "resnet10t"
        )
        assert torch.equal(answer(ag.from_pretrained(tmp_path / "m")), answer(saved))

    def test_channels_too(self, tmp_path):
        ag.save_pretrained(
            ag.InvariantModel(self.make(num_classes=2, in_chans=1), rotation()), tmp_path / "m"
        )
        assert ag.from_pretrained(tmp_path / "m")(torch.rand(2, 1, 32, 32)).shape == (2, 2)

    def test_a_network_that_its_name_does_not_define_must_be_passed(self, tmp_path):
        ag.save_pretrained(
            ag.InvariantModel(self.make(num_classes=4, global_pool="max"), rotation()),
            tmp_path / "m",
        )
        with pytest.raises(ag.InputError, match="build it and pass it"):
            ag.from_pretrained(tmp_path / "m")

    @pytest.mark.parametrize(
        "name", ["hf-hub:someone/something", "local-dir:/etc", "resnet10t.evil/..", "no_such_net"]
    )
    def test_a_name_that_needs_a_download_is_rejected(self, tmp_path, name):
        ag.save_pretrained(model(self.make(num_classes=4)), tmp_path / "m")
        config = json.loads((tmp_path / "m" / "config.json").read_text())
        config["net"]["name"] = name
        (tmp_path / "m" / "config.json").write_text(json.dumps(config))
        with pytest.raises(ag.InputError, match="timm has no model"):
            ag.from_pretrained(tmp_path / "m")
