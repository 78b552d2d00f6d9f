"""`augerino learn`: data in, answer on the screen and in a run folder."""

import dataclasses
import math
import platform
import shlex
from importlib.metadata import version
from typing import Any

import torch

from augerino.commands import screen
from augerino.commands.figures import draw_all
from augerino.commands.options import LearnOptions
from augerino.data.sprites import CLASS_NAMES, Sprites, boat, robot, sprites
from augerino.diagnostics import Orbit, orbit
from augerino.errors import InputError
from augerino.learning import Learned, default_augmentation, find_device, learn
from augerino.recipe import Recipe
from augerino.run_folder import RunFolder
from augerino.transforms import Affine2d

TRAIN_ITEMS, TEST_ITEMS = 2000, 1000


def run(options: LearnOptions, words: list[str]) -> int:
    """Runs the command and returns its exit code."""
    if options.resume is None:
        recipe = _recipe(options)
        data = _load(options.data, recipe.seed)
        default_augmentation(recipe)  # a wrong name or device is told before a folder is made
        find_device(recipe.device)
        folder = RunFolder.create(options.out, options.data)
        command = shlex.join(["augerino", *words])
        folder.write_config({"data": options.data, "recipe": dataclasses.asdict(recipe), "command": command})
    else:
        folder, recipe, name = _reopen(options, words)
        data = _load(name, recipe.seed)
    train, test = data
    screen.console.print(
        f"Learning from {len(train.x)} sprites ({len(CLASS_NAMES)} classes, {train.x.shape[-1]}×{train.x.shape[-1]}), "
        f"seed {recipe.seed}, into {folder.path}",
        soft_wrap=True,
    )
    try:
        augmentation = default_augmentation(recipe)
        steps = -(-len(train.x) // recipe.batch_size)
        with screen.training_display(recipe.epochs, steps, augmentation) as display:
            learned = learn(
                None,
                (train.x, train.y),
                augmentation=augmentation,
                recipe=recipe,
                checkpoint=folder.checkpoint,
                resume=folder.checkpoint.exists(),
                on_epoch=display.on_epoch,
                on_step=display.on_step,
            )
        _finish(folder, recipe, learned, test)
    except KeyboardInterrupt:
        again = shlex.join(["augerino", "learn", "--resume", str(folder.path)])
        screen.console.print(f"\nInterrupted. Go on with:  {again}", soft_wrap=True)
        return 130
    return 0


def _recipe(options: LearnOptions) -> Recipe:
    return Recipe(**{field.name: getattr(options, field.name) for field in dataclasses.fields(Recipe)})


def _load(name: str, seed: int) -> tuple[Sprites, Sprites]:
    """Training and test data, drawn apart."""
    if name != "sprites":
        raise InputError(f"There is no data '{name}': 'sprites', the embedded data, is what there is.")
    return sprites(TRAIN_ITEMS, seed=2 * seed), sprites(TEST_ITEMS, seed=2 * seed + 1)


def _reopen(options: LearnOptions, words: list[str]) -> tuple[RunFolder, Recipe, str]:
    """An interrupted run and its settings. Other options beside --resume would be ignored, so they are refused."""
    others = [word for word in words[1:] if word not in ("--resume", options.resume, f"--resume={options.resume}")]
    if others:
        raise InputError(f"--resume goes on with the run's own settings: leave out {others[0]}.")
    folder = RunFolder.open(str(options.resume))
    if folder.finished:
        raise InputError(f"{folder.path} is finished already; its answer is in {folder.path / 'result.json'}.")
    config = folder.read_config()
    try:
        settings = {**config["recipe"], "coordinates": tuple(config["recipe"]["coordinates"])}
        return folder, Recipe(**settings), str(config["data"])
    except (KeyError, TypeError) as error:
        raise InputError(f"{folder.config_file} does not hold the settings of a run ({error}).") from error


def _finish(folder: RunFolder, recipe: Recipe, learned: Learned, test: Sprites) -> None:
    true = {"rotate": test.true_extent} if "rotate" in learned.bounds else {}
    verdicts = learned.verdicts(true)
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)
        score = learned.evaluate((test.x, test.y))
        examples = torch.stack([test.x[int((test.y == label).nonzero()[0])] for label in range(len(CLASS_NAMES))])
        orbits = _orbits(learned, recipe.device)
    seconds = sum(record.seconds for record in learned.history.epochs)
    result: dict[str, Any] = {
        "bounds": learned.bounds,
        "start": learned.start,
        "true": true,
        "verdicts": [verdict.sentence for verdict in verdicts],
        "metrics": {"test_loss": score.loss, "test_accuracy": score.accuracy, "test_items": score.items, "copies": recipe.copies},
        "seconds": round(seconds, 2),
        "seed": recipe.seed,
        "orbits": {title: dataclasses.asdict(curve) for title, curve in orbits.items()},
        "versions": {"augerino": version("augerino"), "torch": torch.__version__, "python": platform.python_version()},
    }
    draw_all(
        folder.figures,
        augmentation=learned.augmentation.cpu(),
        history=learned.history,
        start=learned.start,
        true=true,
        examples=examples,
        class_names=CLASS_NAMES,
        orbits=orbits,
    )
    folder.write_results(learned.history, learned.policy, result)
    screen.print_verdicts(verdicts)
    screen.console.print(
        f"\nTest accuracy {score.accuracy:.1%} on {score.items} pictures not trained on ({recipe.copies} copies). "
        f"Trained in {seconds:.0f} s.\nRun folder: {folder.path}  (figures/*.png, policy.json, result.json)",
        soft_wrap=True,
    )


def _orbits(learned: Learned, device: str) -> dict[str, Orbit]:
    """What the model says of each upright figure as it is turned once around."""
    if "rotate" not in learned.bounds:
        return {}
    angles = torch.linspace(-math.pi, math.pi, 73)
    turn = Affine2d("rotate")
    figures = {"robot": robot(), "boat": boat()}
    return {name: orbit(learned.model, x.to(device), turn, "rotate", angles) for name, x in figures.items()}
