"""The one type of a dataset, and the embedded ones by name."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import augerino as ag
from augerino.data import Dataset, open_dataset


def dataset(train, test=None):
    return Dataset("mine", "values", "regression", train, test, (), 1, (3,))


@pytest.mark.parametrize("name", ["sprites", "signals", "clouds"])
def test_embedded_data_have_a_name_and_a_known_truth(name, monkeypatch):
    monkeypatch.setattr("augerino.data.synthetic.embedded.N_TRAIN", 12)
    monkeypatch.setattr("augerino.data.synthetic.embedded.N_TEST", 8)
    data = open_dataset(name, seed=3)
    assert (data.name, data.path, data.fingerprint) == (name, name, f"embedded:{name}:3")
    assert (data.n_train, data.n_test) == (12, 8) and data.in_memory
    assert data.n_outputs == len(data.class_names) == 4
    assert data.shape == tuple(data.train[0].shape[1:]) and data.true_extent
    assert not torch.equal(data.train[0][:8], data.test[0])
    with pytest.raises(ag.InputError, match=f"--size is for your own data; '{name}' is embedded"):
        open_dataset(name, size=8)


def test_a_path_comes_before_an_embedded_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("x.npz", x=np.zeros((6, 4), dtype=np.float32), y=np.arange(6) % 2)
    (tmp_path / "x.npz").rename(tmp_path / "sprites")
    with pytest.raises(ag.InputError, match="has an unsupported format"):
        open_dataset("sprites")


@pytest.mark.parametrize("wrap", [tuple, lambda pair: TensorDataset(*pair)])
def test_samples_are_counted_in_every_form(wrap):
    pair = (torch.zeros(5, 3), torch.zeros(5, 1))
    assert (dataset(wrap(pair)).n_train, dataset(wrap(pair)).n_test) == (5, 0)
    assert dataset(pair, wrap(pair)).n_test == 5
    assert dataset(DataLoader(TensorDataset(*pair), batch_size=2)).n_train == 5


def test_the_repr_lists_names_and_no_tensors():
    data = dataset((torch.zeros(5, 3), torch.zeros(5, 1)))
    assert str(data) == "values 3, regression"
    assert "tensor" not in repr(data) and "name='mine'" in repr(data)
