"""ONNX Runtime gives the outputs of PyTorch, for any batch size."""

import sys

import pytest
import torch
from torch import nn

import augerino as ag
from augerino.nets.small import SmallCNN
from augerino.saving import export as exporting
from tests.conftest import need


def model():
    augmentation = ag.Chain(
        ag.Augmentation(
            ag.Affine2d("rotate", "translate_x", padding="reflection"),
            ag.Gaussian([0.0, 0.1], [0.4, 0.2]),
        ),
        ag.Augmentation(ag.Contrast(), ag.Uniform([0.2])),
        ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([0.5])),
    )
    return ag.InvariantModel(SmallCNN(3, 5, width=4), augmentation, average=ag.mean_log_prob).eval()


def answers(path, x):
    import onnxruntime

    session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    return torch.from_numpy(session.run(["y"], {"x": x.numpy()})[0])


@pytest.mark.extras
def test_an_invariant_model_of_any_batch_size(tmp_path):
    need("onnx", "onnxscript", "onnxruntime")
    made, x = model().train(), torch.rand(7, 3, 16, 20)
    made.net.features.eval()  # a frozen part
    modes = [module.training for module in made.modules()]
    written = exporting.to_onnx(made, x[:1], tmp_path / "m.onnx", nodes=8)
    assert [module.training for module in made.modules()] == modes
    assert written.nodes == 8 and written.difference < 1e-5
    fixed = made.eval().with_nodes(8)
    for batch in (1, 2, 7):
        with torch.no_grad():
            assert torch.allclose(
                answers(tmp_path / "m.onnx", x[:batch]), fixed(x[:batch]), atol=1e-5
            )


PHOTOMETRIC = (
    ag.PixelShift(padding="reflection"),
    ag.AutoContrast(),
    ag.Equalize(),
    ag.Gamma(),
    ag.Hue(),
    ag.Posterize(),
    ag.Saturation(),
    ag.Sharpness(),
    ag.Solarize(),
)


@pytest.mark.extras
def test_photometric_transforms_and_shifts(tmp_path):
    need("onnx", "onnxscript", "onnxruntime")
    parts = [ag.Augmentation(t, ag.Uniform([0.2] * len(t.names))) for t in PHOTOMETRIC]
    parts.append(ag.Augmentation(ag.Grayscale(), ag.Bernoulli([0.5])))
    made = ag.InvariantModel(SmallCNN(3, 5, width=4), ag.Chain(*parts), average=ag.mean_log_prob)
    x = torch.rand(5, 3, 16, 20)
    # A level of 8 bits may differ where a value lies between two of them.
    assert exporting.to_onnx(made.eval(), x, tmp_path / "m.onnx", nodes=4).difference < 1e-3


@pytest.mark.parametrize("transform", [ag.Erase(), ag.PixelNoise(), ag.NoiseLevel()])
def test_transforms_that_use_a_hash_are_rejected(tmp_path, transform):
    made = ag.InvariantModel(
        SmallCNN(3, 5, width=4), ag.Augmentation(transform, ag.Uniform([0.3]))
    ).eval()
    name = type(transform).__name__
    with pytest.raises(ag.InputError, match=f"{name} cannot be written as ONNX"):
        exporting.to_onnx(made, torch.rand(2, 3, 16, 16), tmp_path / "m.onnx")


@pytest.mark.extras
@pytest.mark.slow
def test_an_equivariant_model_too(tmp_path):
    need("onnx", "onnxscript", "onnxruntime")
    turn = ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([2.0]))
    made = ag.EquivariantModel(nn.Conv2d(3, 2, 3, padding=1), turn, average=ag.mean_prob).eval()
    assert (
        exporting.to_onnx(made, torch.rand(3, 3, 12, 15), tmp_path / "m.onnx", nodes=4).difference
        < 1e-5
    )


def test_an_existing_file_is_kept(tmp_path):
    (tmp_path / "m.onnx").write_text("mine")
    with pytest.raises(ag.InputError, match="already exists and is not overwritten"):
        exporting.to_onnx(model(), torch.rand(1, 3, 8, 8), tmp_path / "m.onnx")


EXAMPLES = [torch.rand(0, 3, 8, 8), {"image": torch.rand(1, 3, 8, 8)}, torch.tensor(1.0)]


@pytest.mark.parametrize("example", EXAMPLES, ids=["empty", "dict", "number"])
def test_an_example_that_is_no_batch_is_rejected(tmp_path, example):
    with pytest.raises(ag.InputError, match="needs an example batch"):
        exporting.to_onnx(model(), example, tmp_path / "m.onnx")


def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ag.InputError, match=r'pip install "augerino\[onnx\]"'):
        exporting.to_onnx(model(), torch.rand(1, 3, 8, 8), tmp_path / "m.onnx")
