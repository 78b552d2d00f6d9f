"""An averaged model as an ONNX file, over fixed test-time nodes."""

import warnings
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from augerino.errors import InputError
from augerino.models import InvariantModel, evaluation_mode
from augerino.runtime import files
from augerino.saving.export.libraries import require


@dataclass(frozen=True)
class OnnxModel:
    """What was written, and how far ONNX Runtime's answer is from PyTorch's."""

    path: Path
    nodes: int
    difference: float  # the largest of all outputs


def to_onnx(model: InvariantModel, example: Tensor, path: str | Path, nodes: int = 16) -> OnnxModel:
    """Writes a model, averaged over `nodes` fixed elements, as ONNX, and compares ONNX Runtime's answers with PyTorch's.

    The file has one input "x" and one output "y", both with any batch size. The elements are spread evenly over the learned
    distribution (`FixedNodes`), the same ones for every input.

    Args:
        model: the averaged model; its mode (training or evaluation) and device are left as they are.
        example: a batch of inputs (B, ...), for their shape and to compare on.
        path: file to write; an existing one is not overwritten.
        nodes: how many elements.
    """
    path = Path(path)
    if not isinstance(example, Tensor) or example.dim() < 2 or len(example) == 0:
        raise InputError(
            "ONNX needs an example batch: one tensor (B, ...) with at least one input."
        )
    if path.exists():
        raise InputError(f"{path} exists already and nothing is overwritten: choose another file.")
    for package in ("onnx", "onnxscript"):
        require(package, "onnx")
    runtime = require("onnxruntime", "onnx")
    fixed = model.with_nodes(nodes)
    two = torch.cat([example, example])[
        :2
    ].detach()  # a batch of one would be taken for a size that is always one
    with evaluation_mode(fixed), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns of its own insides
        program = torch.onnx.export(
            fixed,
            (two,),
            dynamo=True,
            verbose=False,
            input_names=["x"],
            output_names=["y"],
            dynamic_shapes=({0: torch.export.Dim("batch")},),
        )
        assert program is not None
        content = program.model_proto.SerializeToString()
        session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
        theirs = session.run(None, {"x": example.detach().cpu().numpy()})[0]
        difference = float((torch.from_numpy(theirs) - fixed(example).cpu()).abs().max())
    files.write_atomically(path, content)
    return OnnxModel(path, nodes, difference)
