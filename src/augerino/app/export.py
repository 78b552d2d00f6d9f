"""`augerino export`: writes the learned augmentation or model as a file for other programs."""

from pathlib import Path
from typing import Any

import torch

from augerino.app.console import say
from augerino.app.options import ExportOptions
from augerino.errors import InputError
from augerino.runtime import files
from augerino.saving import export as exporting
from augerino.saving import pretrained
from augerino.saving.policy import Policy
from augerino.saving.pretrained import from_pretrained

_NAMES = {"onnx": "learned.onnx", "policy": "learned_policy.json"}


def run(options: ExportOptions) -> int:
    """Runs the command and returns its exit code."""
    out = _output_file(options)
    if options.to == "onnx":
        _write_onnx(_model_folder(Path(options.source)), out, options)
        return 0
    if options.shape is not None or options.nodes != ExportOptions.nodes:
        raise InputError(f"--nodes and --shape need --to onnx, but got --to {options.to}.")
    file = _policy_file(Path(options.source))
    policy = Policy.load(file)
    undecided = _undecided(file.with_name("result.json"))
    if undecided:
        say(f"Undecided in this run, exported as trained: {', '.join(undecided)}.")
    if options.to == "policy":
        policy.save(out)
        say(f"Wrote {out}. Load it with ag.Policy.load({str(out)!r}).augmentation().")
        return 0
    _write_module(out, policy, options.to, undecided)
    return 0


def _output_file(options: ExportOptions) -> Path:
    default = _NAMES.get(options.to, f"learned_{options.to}.py")
    out = Path(default if options.out is None else options.out)
    if out.exists():
        raise InputError(f"{out} already exists. Choose another file with --out.")
    if not out.parent.is_dir():
        raise InputError(f"There is no folder {out.parent}. Create it, or choose another --out.")
    return out


def _write_module(out: Path, policy: Policy, library: str, undecided: list[str]) -> None:
    """Writes a Python file that defines the augmentation with one other library."""
    importable = out.stem.isidentifier()
    module = out.stem if importable else "learned"
    text = exporting.standalone(policy, library, module=module, undecided=undecided)
    files.write_atomically(out, text.encode())
    use = f"from {module} import augmentation"
    if not importable:
        use = "rename it to a Python identifier to import it"
    say(str(policy.augmentation()))
    say(f"Wrote {out}, which depends on {library} only:  {use}")


def _undecided(result: Path) -> list[str]:
    """Coordinates whose range the held-out data left undecided; empty without a result.json."""
    if not result.is_file():
        return []
    found = files.read_json(result, "result")
    entries = found.get("coordinates") if isinstance(found, dict) else None
    return [
        str(entry.get("name"))
        for entry in entries or []
        if isinstance(entry, dict) and entry.get("answer") == "undecided"
    ]


def _write_onnx(folder: Path, out: Path, options: ExportOptions) -> None:
    if options.nodes < 1:
        raise InputError(f"--nodes must be at least 1, but got {options.nodes}.")
    model = from_pretrained(folder)
    example = torch.rand(3, *_shape(folder, options.shape), dtype=next(model.parameters()).dtype)
    try:
        with torch.no_grad():
            model(example)
    except (RuntimeError, ValueError, IndexError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"The model does not accept inputs of shape {tuple(example.shape[1:])}: {reason}"
        ) from error
    written = exporting.to_onnx(model, example, out, options.nodes)
    say(str(model.augmentation))
    say(
        f"Wrote {out}: input x, output y, any batch size, "
        f"averaged over {written.nodes} fixed elements. "
        f"ONNX Runtime and PyTorch differ by at most {written.difference:.1e}."
    )


def _policy_file(source: Path) -> Path:
    if source.is_dir():
        if not (source / "policy.json").is_file():
            raise InputError(
                f"{source} contains no policy.json. Pass the folder of a finished run."
            )
        return source / "policy.json"
    if not source.exists():
        raise InputError(f"{source} does not exist. Pass a run folder or a policy.json.")
    return source


def _model_folder(source: Path) -> Path:
    """The saved model of a run, or the folder itself if it is one."""
    for folder in (source / "model", source):
        if (folder / "model.safetensors").is_file():
            return folder
    raise InputError(
        f"{source} contains no saved model, which ONNX needs. "
        "Pass a run folder that contains model/."
    )


def _shape(folder: Path, given: str | None) -> tuple[int, ...]:
    """The shape of one input: of --shape, or as saved with the model."""
    if given is None:
        saved = pretrained.load(folder).config.get("input")
        shape: Any = saved.get("shape") if isinstance(saved, dict) else None
        problem = "The saved model does not contain the shape of its inputs. Pass it"
    else:
        shape = [int(side) if side.strip().isdecimal() else 0 for side in given.split(",")]
        problem = f"--shape must be positive integers, but got {given}. Write it"
    if not _is_shape(shape):
        raise InputError(f"{problem} as in --shape 3,32,32.")
    return tuple(shape)


def _is_shape(value: Any) -> bool:
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(side, int) and 0 < side <= 65536 for side in value)
