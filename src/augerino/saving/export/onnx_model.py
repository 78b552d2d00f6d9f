"""An averaged model as an ONNX file, with fixed group elements."""

import warnings
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from augerino.errors import InputError
from augerino.models import InvariantModel, evaluation_mode
from augerino.runtime import files
from augerino.saving.export.libraries import require
from augerino.transforms import Erase, NoiseLevel, PixelNoise


@dataclass(frozen=True)
class OnnxModel:
    """The file that was written.

    Attributes:
        path: the file.
        nodes: number of group elements.
        difference: largest absolute difference between ONNX Runtime's outputs and PyTorch's.
    """

    path: Path
    nodes: int
    difference: float


def to_onnx(model: InvariantModel, example: Tensor, path: str | Path, nodes: int = 16) -> OnnxModel:
    """Writes a model, averaged over `nodes` fixed elements, as ONNX.

    The file has one input "x" and one output "y", both with any batch size. The elements are evenly
    spread over the learned distribution (`FixedNodes`) and the same for every input. The outputs
    of ONNX Runtime are compared with PyTorch's.

    Args:
        model: the averaged model; its mode and device are unchanged.
        example: a batch of inputs (B, ...), for its shape and for the comparison.
        path: file to write; an existing one is not overwritten.
        nodes: number of elements.
    """
    path = Path(path)
    if not isinstance(example, Tensor) or example.dim() < 2 or len(example) == 0:
        raise InputError(
            "ONNX needs an example batch: one tensor (B, ...) with at least one input."
        )
    if path.exists():
        raise InputError(f"{path} already exists and is not overwritten: choose another file.")
    _check_transform(model)
    require("onnx", "onnx")
    require("onnxscript", "onnx")
    runtime = require("onnxruntime", "onnx")
    fixed = model.with_nodes(nodes)
    # The exporter would treat a batch of one as a constant size.
    two_inputs = torch.cat([example, example])[:2].detach()
    with evaluation_mode(fixed), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns about its own internals
        program = torch.onnx.export(
            fixed,
            (two_inputs,),
            dynamo=True,
            verbose=False,
            input_names=["x"],
            output_names=["y"],
            dynamic_shapes=({0: torch.export.Dim("batch")},),
        )
        assert program is not None
        content = program.model_proto.SerializeToString()
        session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
        exported = session.run(None, {"x": example.detach().cpu().numpy()})[0]
        expected = fixed(example).cpu()
    difference = float((torch.from_numpy(exported) - expected).abs().max())
    files.write_atomically(path, content)
    return OnnxModel(path=path, nodes=nodes, difference=difference)


def _check_transform(model: InvariantModel) -> None:
    """Rejects transforms whose random numbers are a hash: ONNX cannot read the bits of a number."""
    for part in model.augmentation.transform.modules():
        if isinstance(part, Erase | NoiseLevel | PixelNoise):
            raise InputError(
                f"{type(part).__name__} cannot be written as ONNX, because its random numbers are "
                "a hash of the bits of the input: leave it out of the model that is exported."
            )
