"""`augerino export`: what was learned, as a file for somewhere else."""

from pathlib import Path

import torch

from augerino.app.console import console
from augerino.app.options import ExportOptions
from augerino.augmentation import Augmentation
from augerino.errors import InputError
from augerino.runtime import files
from augerino.saving import export as exporting
from augerino.saving import pretrained
from augerino.saving.policy import Policy
from augerino.saving.pretrained import from_pretrained

_NAMES = {"onnx": "learned.onnx", "policy": "learned_policy.json"}


def run(options: ExportOptions) -> int:
    """Runs the command and returns its exit code."""
    out = Path(
        _NAMES.get(options.to, f"learned_{options.to}.py") if options.out is None else options.out
    )
    if out.exists():
        raise InputError(f"{out} exists already and nothing is overwritten: choose another --out.")
    if not out.parent.is_dir():
        raise InputError(f"There is no folder {out.parent} to write {out.name} into.")
    if options.to != "onnx" and (options.shape is not None or options.nodes != ExportOptions.nodes):
        raise InputError(f"--nodes and --shape are for onnx, not for {options.to}: leave them out.")
    if options.to == "onnx":
        _write_onnx(_model_folder(Path(options.source)), out, options)
        return 0
    file = _policy_file(Path(options.source))
    policy, undecided = Policy.load(file), _undecided(file.with_name("result.json"))
    if undecided:
        console.print(
            f"Not decided by this run, so as training left them: {', '.join(undecided)}.",
            soft_wrap=True,
        )
    if options.to == "policy":
        policy.save(out)
        console.print(
            f"Wrote {out}. Load it with ag.Policy.load({str(out)!r}).augmentation().",
            soft_wrap=True,
        )
        return 0
    text = exporting.standalone(
        policy,
        options.to,
        module=out.stem if out.stem.isidentifier() else "learned",
        undecided=undecided,
    )
    files.write_atomically(out, text.encode())
    use = (
        f"from {out.stem} import augmentation"
        if out.stem.isidentifier()
        else "rename it to something Python can import"
    )
    _say(f"Wrote {out}, which needs {options.to} only:  {use}", policy.augmentation())
    return 0


def _undecided(result: Path) -> list[str]:
    """Coordinates of which a run's held-out data did not tell how far they reach; none where no run is around."""
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
        raise InputError(f"nodes must be at least 1, but got {options.nodes}.")
    model = from_pretrained(folder)
    example = torch.rand(3, *_shape(folder, options.shape), dtype=next(model.parameters()).dtype)
    try:
        with torch.no_grad():
            model(example)
    except (RuntimeError, ValueError, IndexError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"The model does not take inputs of shape {tuple(example.shape[1:])}: {reason}"
        ) from error
    written = exporting.to_onnx(model, example, out, options.nodes)
    _say(
        f"Wrote {out}: input x, output y, any batch size, averaged over {written.nodes} fixed elements. "
        f"ONNX Runtime differs from PyTorch by at most {written.difference:.1e}.",
        model.augmentation,
    )


def _say(sentence: str, augmentation: Augmentation) -> None:
    console.print(f"{augmentation}\n{sentence}", soft_wrap=True)


def _policy_file(source: Path) -> Path:
    if source.is_dir():
        if not (source / "policy.json").is_file():
            raise InputError(
                f"{source} holds no policy.json: it is not the folder of a finished run."
            )
        return source / "policy.json"
    if not source.exists():
        raise InputError(f"There is no {source}: name a run folder or a policy.json.")
    return source


def _model_folder(source: Path) -> Path:
    """The saved model of a run, or the folder itself if it is one."""
    for folder in (source / "model", source):
        if (folder / "model.safetensors").is_file():
            return folder
    raise InputError(
        f"{source} holds no saved model, which ONNX needs: name a run folder with model/ in it."
    )


def _shape(folder: Path, given: str | None) -> tuple[int, ...]:
    """The shape of one input: the one given, or the one that the saved model tells."""
    if given is None:
        told = pretrained.load(folder).config.get("input")
        shape = told.get("shape") if isinstance(told, dict) else None
    else:
        shape = [int(side) if side.strip().isdecimal() else 0 for side in given.split(",")]
    if (
        not isinstance(shape, list)
        or not shape
        or not all(isinstance(side, int) and 0 < side <= 65536 for side in shape)
    ):
        wrong = (
            "The saved model does not tell the shape of its inputs"
            if given is None
            else f"--shape {given} is no shape"
        )
        raise InputError(f"{wrong}: say it, as in --shape 3,32,32.")
    return tuple(shape)
