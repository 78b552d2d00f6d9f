"""Learning from a path or a `Dataset`, and what is measured on its test part afterwards."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import augerino as ag
from augerino.app.cli import main
from augerino.data import open_dataset
from augerino.data.synthetic.sprites import sprites
from augerino.learning import outcome

DATA, TEST = sprites(96, seed=0), sprites(40, seed=1)
QUICK = {"epochs": 1, "coordinates": ("rotate", "scale"), "batch_size": 32, "width": 4}
WORDS = [
    *("--epochs", "1", "--coordinates", "rotate,scale", "--batch-size", "32", "--width", "4"),
    *("--no-baseline", "--out", "run"),
]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("augerino.data.synthetic.embedded.N_TRAIN", 96)
    monkeypatch.setattr("augerino.data.synthetic.embedded.N_TEST", 40)
    monkeypatch.setattr("augerino.learning.outcome.EVIDENCE_ITEMS", 20)


def save(name="data.npz", targets=DATA.y):
    np.savez(name, x=(DATA.x * 255).byte().numpy(), y=targets.numpy())
    return name


@pytest.mark.parametrize("targets", [DATA.y, DATA.angles], ids=["classes", "values"])
def test_a_path_gives_the_same_model_as_the_command(targets):
    path = save(targets=targets)
    assert main(["learn", path, *WORDS]) == 0
    saved = ag.from_pretrained("run/model").state_dict()
    result = json.loads(Path("run/result.json").read_text())
    for data in (path, Path(path), open_dataset(path, standardize=True)):
        learned = ag.learn(None, data, **QUICK)
        found = learned.model.state_dict()
        assert all(torch.equal(value, found[name]) for name, value in saved.items())
        assert learned.dataset.fingerprint == result["data"]["fingerprint"]
        assert learned.dataset.n_train == result["data"]["train_items"]


def test_the_test_part_is_measured_unless_other_data_are_given():
    learned = ag.learn(None, "sprites", **QUICK)
    assert learned.dataset.true_extent == {"rotate": pytest.approx(torch.pi / 4)}
    evaluations = []
    for data in (None, learned.dataset, learned.dataset.test):
        torch.manual_seed(0)
        evaluations.append(learned.evaluate(data))
    assert evaluations[0] == evaluations[1] == evaluations[2]
    assert learned.evaluate().n_items == learned.dataset.n_test == 40
    assert learned.evaluate((TEST.x[:5], TEST.y[:5])).n_items == 5
    assert learned.check(n_items=20) == learned.check(learned.dataset.test, n_items=20)
    assert "learned.check()" in str(learned)


def test_without_a_test_part_held_out_data_must_be_given():
    learned = ag.learn(None, (DATA.x, DATA.y), **QUICK)
    for measure in (learned.evaluate, learned.check, lambda: learned.report("report.html")):
        with pytest.raises(ag.InputError, match="has no test part: pass held-out data"):
            measure()
    assert "learned.check(data)" in str(learned) and not Path("report.html").exists()


def test_a_report_has_the_numbers_of_the_command(monkeypatch):
    path = save()
    assert main(["learn", path, *WORDS]) == 0
    command = json.loads(Path("run/result.json").read_text())
    results = []
    write = outcome.measure

    def measure(*arguments, **options):
        results.append(write(*arguments, **options))
        return results[-1]

    monkeypatch.setattr("augerino.learning.outcome.measure", measure)
    learned = ag.learn(None, path, **QUICK)
    before = torch.get_rng_state()
    written = learned.report("report.html", n_items=20)
    assert written == Path("report.html") and torch.equal(before, torch.get_rng_state())
    from augerino.learning.result import result

    found = json.loads(json.dumps(result(results[0])))
    for name in (
        "coordinates",
        "models",
        "per_class",
        "orbits",
        "findings",
        "bounds",
        "class_names",
    ):
        assert found[name] == command[name], name
    page, expected = written.read_text(), Path("run/report.html").read_text()
    assert "Symmetries of data.npz" in page and page.count("data:image") == expected.count(
        "data:image"
    )
    assert page.count("<svg") == expected.count("<svg") > 5
    assert learned.report("report.html", n_items=20) == written  # its own page may be replaced
    Path("mine.html").write_text("mine")
    with pytest.raises(ag.InputError, match="is not an augerino report"):
        learned.report("mine.html", n_items=20)


def pair(x, y):
    return x, y


def loader(x, y):
    return DataLoader(TensorDataset(x, y), batch_size=16)


@pytest.mark.parametrize(
    ("wrap", "task"),
    [
        (pair, "classification"),
        (TensorDataset, "regression"),
        (loader, "classification"),
        (pair, "segmentation"),
    ],
)
def test_a_report_of_tensors(wrap, task):
    targets = {
        "classification": lambda data: data.y,
        "regression": lambda data: data.angles,
        "segmentation": lambda data: (data.x.mean(dim=1) > 0.1).long(),
    }[task]
    learned = ag.learn(None, wrap(DATA.x, targets(DATA)), **QUICK)
    assert (learned.task, learned.dataset.n_train, learned.dataset.n_test) == (task, 96, 0)
    page = learned.report("report.html", test=wrap(TEST.x, targets(TEST)), n_items=20).read_text()
    assert "Symmetries of data" in page and "rotate" in page and "data:image" in page
    assert learned.dataset.test is None


def test_a_setup_is_built_once_per_training(monkeypatch):
    built = []
    default_net = ag.learning.setup.default_net

    def count(name, **options):
        built.append(name)
        return default_net(name, **options)

    monkeypatch.setattr("augerino.learning.setup.default_net", count)
    monkeypatch.setattr("augerino.app.learn.write_outcome", lambda trained: None)
    words = [word for word in WORDS if word != "--no-baseline"]
    assert main(["learn", "sprites", *words, "--seeds", "2", "--out", "run"]) == 0
    assert len(built) == len(list(Path("run").glob("*.safetensors"))) > 4


def test_a_setup_keeps_its_random_state():
    from augerino.learning.learn import train
    from augerino.learning.setup import prepare

    recipe = ag.Recipe(**QUICK, trial_length=0.0)
    whole = ag.learn(None, (DATA.x, DATA.y), recipe=recipe)
    setup = prepare(None, (DATA.x, DATA.y), recipe=recipe)
    torch.rand(7)  # other draws in between
    before = torch.get_rng_state()
    found = train(setup).model.state_dict()
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(value, found[name]) for name, value in whole.model.state_dict().items())


def test_a_dataset_whose_targets_are_of_another_task_is_rejected():
    data = open_dataset("sprites")
    wrong = ag.data.Dataset(
        **{**vars(data), "task": "regression", "class_names": (), "n_outputs": 1}
    )
    with pytest.raises(ag.InputError, match=r"for regression, but its targets, torch\.int64"):
        ag.learn(None, wrong, **QUICK)
