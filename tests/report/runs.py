"""Run folders in the format of `learn`, without training: invented numbers, real pictures."""

import functools
import json
import math
import tempfile
from pathlib import Path

import torch
from torch import nn

import augerino as ag
from augerino.data.synthetic.sprites import CLASS_NAMES, sprites
from augerino.diagnostics.examples import write_gallery
from augerino.learning.defaults import output_action

MASK_CLASSES = ("<b>ground", "tree & bush", "\u202epond")
MODELS = ("no augmentation", "learned, 1 copy", "learned, 4 copies")


def change(mean: float) -> dict:
    return {"mean": mean, "low": mean - 0.02, "high": mean + 0.03}


def evidence(learned: float, text: str, rises: float) -> dict:
    extents = [learned * factor for factor in (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)]
    loss = [
        rises * max(0.0, extent / learned - 1) ** 2 + 0.04 * (1 - min(extent / learned, 1))
        for extent in extents
    ]
    return {
        "off": {"extent": 0.0, "text": "off", "loss": change(0.04), "accuracy": change(-0.012)},
        "wider": {
            "extent": 2 * learned,
            "text": text,
            "loss": change(rises),
            "accuracy": change(-rises / 4),
        },
        "profile": {
            "extents": extents,
            "texts": [f"{extent:.3f}" for extent in extents],
            "loss": loss,
            "low": [value - 0.01 - value / 5 for value in loss],
            "high": [value + 0.01 + value / 5 for value in loss],
        },
    }


def coordinate(name: str, **given) -> dict:
    return {
        "name": name,
        "transform": "Affine2d",
        "start": 0.3,
        "learned": 0.785,
        "limit": math.pi,
        "unit": "rad",
        "start_text": "±17.2°",
        "learned_text": "±45.0°",
        "answer": "symmetry",
        "sentence": f"{name}: invariant up to ±45.0° (95 %: 43.1–46.8°)",
        "interval": [0.752, 0.817],
        "true": None,
        "support": [-0.785, 0.785],
        "discrete": False,
        "evidence": evidence(0.785, "±90.0°", 0.8),
        **given,
    }


def coordinates() -> list[dict]:
    """One of each answer, and a flip."""
    return [
        coordinate("rotate", true=math.pi / 4),
        coordinate(
            *("translate_x",),
            learned=0.99,
            limit=1.0,
            unit="half-images",
            learned_text="±49.5 % of the image",
            start_text="±15.0 % of the image",
            answer="full",
            interval=[0.9, 1.0],
            support=[-0.99, 0.99],
            sentence="translate_x: a full symmetry (±49.5 % of the image)",
            evidence=evidence(0.99, "±50 %", 0.01),
        ),
        coordinate(
            *("scale",),
            learned=0.02,
            limit=1.0,
            unit="log-factor",
            start_text="×0.74 to ×1.35",
            learned_text="×0.98 to ×1.02",
            answer="none",
            interval=[0.0, 0.03],
            support=[-0.02, 0.02],
            sentence="scale: no symmetry found; the data allow at most ×0.98 to ×1.02",
            evidence=evidence(0.02, "×0.96 to ×1.04", 0.3),
        ),
        coordinate(
            *("brightness",),
            transform="Brightness",
            learned=0.2,
            limit=1.0,
            unit="of full intensity",
            start_text="±30.0 % of full intensity",
            learned_text="±20.0 % of full intensity",
            answer="undecided",
            interval=None,
            support=[-0.2, 0.2],
            sentence="brightness: not decided, more data or epochs are needed "
            "(±20.0 % of full intensity so far)",
            evidence=None,
        ),
        coordinate(
            *("flip_horizontal",),
            transform="Flip",
            start=0.2,
            learned=0.96,
            limit=1.0,
            unit="",
            start_text="10.0 % of copies",
            learned_text="48.0 % of copies",
            answer="full",
            interval=None,
            support=[0.0, 1.0],
            discrete=True,
            sentence="flip_horizontal: a full symmetry (48.0 % of copies)",
            evidence=None,
        ),
    ]


def augmentation() -> ag.Augmentation:
    """The augmentation that `coordinates` describe."""
    affine = ag.Augmentation(
        ag.Affine2d("rotate", "translate_x", "scale"), ag.Uniform([0.785, 0.99, 0.02])
    )
    return ag.Chain(
        affine,
        ag.Augmentation(ag.Brightness(), ag.Uniform([0.2])),
        ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([0.48])),
    )


def payoff(**given) -> dict:
    """The entry of a learned model that is clearly better than no augmentation."""
    return {
        "answer": "yes",
        "gain": {"mean": 6.9, "low": 5.1, "high": 8.8},
        "over_standard": {"mean": 0.6, "low": -0.4, "high": 1.6},
        "standard": "flip + shift",
        "is_accuracy": True,
        "n_items": 1000,
        "sentence": "Use it: +6.9 points (95 %: +5.1 to +8.8) over no augmentation, on 1000 "
        "held-out samples. In short trials: +0.6 points (95 %: −0.4 to +1.6) over flip + shift.",
        **given,
    }


def trial(name: str, gain: float | None, /, **given) -> dict:
    """The entry of one trial; without a gain, it has diverged."""
    entry = {"name": name, "loss": None, "accuracy": None, "gain": None}
    if gain is not None:
        spread = 0.02 * abs(gain)
        estimate = {"mean": gain, "low": gain - spread, "high": gain + spread}
        entry |= {"loss": 0.5 - gain, "accuracy": 0.9 + gain / 4, "gain": estimate}
    return entry | given


def policy(**given) -> dict:
    """The entry of a policy that adds photometric operations to the standard policy."""
    return {
        "name": "flip + shift + photometric",
        "sentence": "shift up to 12.5 % of the image in every image; flip half",
        "copies": 4,
        "copies_text": "4 copies at 0.5 of the strength",
        "standard": "flip + shift",
        "items": 1333,
        "trials": [
            trial("no augmentation", 0.0),
            trial("flip + shift", 0.21),
            trial("flip + shift + learned ranges in some samples", -0.1),
            trial("flip + shift + photometric", 0.25),
            trial("full rotations", None),
        ],
        **given,
    }


def result(**given) -> dict:
    """A result.json; `given` replaces sections."""
    angles = [math.radians(5 * step) for step in range(-36, 37)]
    right = [1 / (1 + math.exp(8 * (abs(angle) - 0.9))) for angle in angles]
    scores = dict(zip(MODELS, (0.912, 0.968, 0.981), strict=True))
    return {
        "version": 2,
        "kind": "images",
        "task": "classification",
        "class_names": list(CLASS_NAMES),
        "coordinates": coordinates(),
        "models": [
            {
                "name": name,
                "copies": copies,
                "loss": 1 - score,
                "accuracy": score,
                "low": score - 0.012,
                "high": score + 0.01,
                "items": 1000,
            }
            for (name, score), copies in zip(scores.items(), (1, 1, 4), strict=True)
        ],
        "payoff": payoff(),
        "policy": policy(),
        "per_class": [
            {
                "class": name,
                "items": 250,
                "accuracy": {model: score - 0.01 * i for model, score in scores.items()},
            }
            for i, name in enumerate(CLASS_NAMES)
        ],
        "orbits": [
            {
                "title": "robot",
                "coordinate": "rotate",
                "values": angles,
                "truth": 0,
                "outputs": [[p, 1 - p, 0.0, 0.0] for p in right],
            },
            {
                "title": "boat",
                "coordinate": "rotate",
                "values": angles,
                "truth": 2,
                "outputs": [[0.0, 0.0, p, 1 - p] for p in right],
            },
        ],
        "data": {
            "path": "pictures/sprites",
            "fingerprint": "sha256:3f1c8a02b95d",
            "train_items": 2000,
            "test_items": 1000,
            "shape": [3, 32, 32],
            "notes": ["A fifth of the items was set aside for testing (seed 0)."],
        },
        "command": "augerino learn pictures/sprites --epochs 40",
        "recipe": {
            "coordinates": ["rotate", "translate_x", "scale"],
            "start": 0.3,
            "weight": 0.05,
            "epochs": 40,
            "lr": 0.01,
        },
        "seed": 0,
        "seeds": [
            {
                "seed": seed,
                "learned": {"rotate": 0.77 + 0.01 * seed, "scale": 0.02, "translate_x": 0.97},
                "accuracy": 0.97 + 0.004 * seed,
            }
            for seed in range(3)
        ],
        "seconds": 41.2,
        "versions": {"augerino": "0.1.0", "torch": "2.13.0", "python": "3.11.2"},
        "date": "2025-03-01 12:00",
        **given,
    }


def history(epochs: int = 40) -> list[dict]:
    """A history.json in which extents go from their start to the learned ones."""
    ends = [(c["name"], c["start"], c["learned"]) for c in coordinates()]
    records = []
    for epoch in range(1, epochs + 1):
        progress = 1 - math.exp(-4 * epoch / epochs)
        extent = {name: start + (learned - start) * progress for name, start, learned in ends}
        loss = 1.3 * math.exp(-5 * epoch / epochs) + 0.05
        records.append(
            {
                "epoch": epoch,
                "loss": loss,
                "penalty": -0.05 * progress,
                "total": loss - 0.05 * progress,
                "extent": extent,
                "lr": 0.01,
                "seconds": 1.0,
            }
        )
    return records


def tiny_model(augmentation: ag.Augmentation, classes: int = 4) -> ag.InvariantModel:
    torch.manual_seed(0)
    net = nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.LazyLinear(classes))
    model = ag.InvariantModel(net, augmentation, test_copies=2, average=ag.mean_log_prob)
    model.eval()(torch.rand(2, 3, 32, 32))
    return model


@functools.cache
def gallery_files() -> dict[str, bytes]:
    """The files of a gallery of three sprites, drawn once."""
    data = sprites(3)
    with tempfile.TemporaryDirectory() as name:
        write_gallery(
            Path(name),
            tiny_model(augmentation()),
            data.x,
            data.y,
            CLASS_NAMES,
            "classification",
            "images",
        )
        return {path.name: path.read_bytes() for path in Path(name).iterdir()}


@functools.cache
def mask_gallery_files() -> dict[str, bytes]:
    """The files of a gallery of two segmented pictures, drawn once."""
    torch.manual_seed(0)
    x = torch.rand(2, 3, 24, 32)
    y = torch.zeros(2, 24, 32, dtype=torch.long)
    y[:, 6:16, 8:20], y[:, 16:20, 8:20], y[:, :2] = 1, 2, 255
    model = ag.EquivariantModel(
        nn.Conv2d(3, 3, 1),
        augmentation(),
        action=output_action(augmentation().transform),
        test_copies=2,
    )
    with tempfile.TemporaryDirectory() as name:
        write_gallery(Path(name), model, x, y, MASK_CLASSES, "segmentation", "masks")
        return {path.name: path.read_bytes() for path in Path(name).iterdir()}


def make_mask_run(folder: Path, **given) -> Path:
    """A finished run folder of a segmentation."""
    whole = result(
        task="segmentation", kind="masks", class_names=list(MASK_CLASSES), orbits=[], **given
    )
    for i, model in enumerate(whole["models"]):
        model["mean_iou"] = change(0.6 + 0.1 * i)
    whole["per_class"] = [
        {"class": name, "items": 2, "iou": dict.fromkeys(MODELS, None if i == 2 else 0.5 + 0.1 * i)}
        for i, name in enumerate(MASK_CLASSES)
    ]
    make_run(folder, gallery=False)
    (folder / "result.json").write_text(json.dumps(whole))
    (folder / "gallery").mkdir()
    for name, content in mask_gallery_files().items():
        (folder / "gallery" / name).write_bytes(content)
    return folder


def make_run(folder: Path, *, gallery: bool = True, **given) -> Path:
    """A finished run folder; `given` replaces sections of its result."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(
        json.dumps({"data": "sprites", "recipe": {}, "command": "augerino learn"})
    )
    (folder / "history.json").write_text(json.dumps(history()))
    ag.Policy.of(augmentation()).save(folder / "policy.json")
    if gallery:
        (folder / "gallery").mkdir()
        for name, content in gallery_files().items():
            (folder / "gallery" / name).write_bytes(content)
    (folder / "result.json").write_text(json.dumps(result(**given)))
    return folder
