"""Two processes train like one: same gradients and bounds, one writer, no hang on a failure."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from augerino.data.batches import count_batches
from augerino.data.synthetic.sprites import sprites
from augerino.errors import InputError
from augerino.learning.recipe import Recipe
from augerino.learning.setup import check_processes
from augerino.runtime import distributed
from tests.data.made import shard_folder
from tests.runtime import distributed_script as script

ROOT = Path(__file__).parents[2]
LIMIT = 240  # seconds; far more than needed, so that a hang fails instead of lasting


def start(words, folder, processes=2):
    """Starts a command in several processes, as torchrun does, with access to their exit codes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    shared = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(processes),
        "PYTHONPATH": path,
    }
    return [
        subprocess.Popen(
            [sys.executable, *words],
            cwd=folder,
            env={
                **os.environ,
                **shared,
                "OMP_NUM_THREADS": "1",
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]


def finish(running):
    """Exit codes and output of each process, in the order of their ranks."""
    try:
        said = [process.communicate(timeout=LIMIT) for process in running]
    finally:
        for process in running:
            process.kill()
    return (
        [process.returncode for process in running],
        [out for out, _ in said],
        [err for _, err in said],
    )


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Results of two processes, and the folder of their checkpoints."""
    folder = tmp_path_factory.mktemp("two")
    script.looped(folder / "one.safetensors", crash_at=(2, 4))
    shard_folder(folder / "shards", shards=8, each=10)
    codes, _, errors = finish(
        start(["-m", "tests.runtime.distributed_script", str(folder)], folder)
    )
    assert codes == [0, 0], errors
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(2)], folder


@pytest.mark.parametrize("maps", [False, True], ids=["classes", "label maps with ignored pixels"])
def test_gradients_are_those_of_the_joined_batch(found, maps):
    """Seven items over two processes are four and three: neither part has a weight of one half."""
    alone, loss, total = script.gradients(maps)
    assert "model.augmentation.distribution.raw_bound" in alone and all(
        grad.abs().sum() > 0 for grad in alone.values()
    )
    for result in found[0]:
        shared, shared_loss, shared_total = result["gradients"][maps]
        assert (shared_loss, shared_total) == pytest.approx((loss, total), abs=1e-6)
        for name, gradient in alone.items():
            torch.testing.assert_close(shared[name], gradient, atol=1e-6, rtol=0)


def test_bounds_may_rest_between_steps(found):
    alone = script.rested()
    for result in found[0]:
        for name, value in alone.items():
            torch.testing.assert_close(result["rested"][name], value, atol=1e-6, rtol=0)


@pytest.mark.parametrize("method", ["probe", "gradient"])
def test_both_end_with_the_same_bits(found, method):
    (bounds, state, losses), (other_bounds, other_state, other_losses) = (
        result["learned"][method] for result in found[0]
    )
    assert bounds == other_bounds and losses == other_losses
    assert all(torch.equal(value, other_state[name]) for name, value in state.items())
    assert bounds["rotate"] != pytest.approx(0.3, abs=1e-3)  # it has moved at all


@pytest.mark.parametrize("kind", ["memory", "disk", "foreign", "checked"])
def test_a_pass_is_one_order_dealt_out(found, kind):
    first, second = (result["passes"][kind] for result in found[0])
    for mine, others in zip(first, second, strict=True):
        assert len(mine) == len(others) and all(
            len(a) - len(b) in (0, 1) for a, b in zip(mine, others, strict=True)
        )
        seen = [item for batch in (*mine, *others) for item in batch]
        # In memory the last 3 of 19 samples join the previous batch, so that no process has just 1.
        assert sorted(seen) == (sorted(set(seen)) if kind == "disk" else list(range(19)))
    assert first[0] != first[1]  # another order in the second pass


def test_each_process_draws_noise_of_its_own(found):
    draws = [
        tuple(row)
        for result in found[0]
        for kind in ("memory", "disk")
        for row in result["passes"][f"{kind} noise"]
    ]
    assert len(set(draws)) == len(draws)


def test_each_process_reads_shards_of_its_own(found):
    (first, bounds, n_probe_items), (second, other_bounds, _) = (
        result["sharded"] for result in found[0]
    )
    assert [len(batch) for batch in first] == [len(batch) for batch in second] == [4] * 10
    shards = [{item // 10 for batch in batches for item in batch} for batches in (first, second)]
    assert [len(own) for own in shards] == [4, 4] and not shards[0] & shards[1]
    assert bounds == other_bounds and n_probe_items == 16


def test_resuming_in_mid_epoch_equals_never_having_stopped(found):
    for result in found[0]:
        (whole, drawn), (resumed, drawn_again) = result["whole"], result["resumed"]
        assert all(torch.equal(value, resumed[name]) for name, value in whole.items())
        assert drawn[-len(drawn_again) :] == drawn_again and len(drawn_again) < len(drawn)


def test_a_checkpoint_of_one_process_goes_on_in_two_and_the_other_way_round(found):
    results, folder = found
    assert all(
        torch.equal(value, results[1]["from one"][0][name])
        for name, value in results[0]["from one"][0].items()
    )
    assert (
        len(results[0]["from one"][1]) == 8
    )  # the three steps since the checkpoint and the five of the third epoch
    _, drawn = script.looped(folder / "two.safetensors", resume=True)
    assert len(drawn) == 8


def test_values_and_errors_of_the_first_process_reach_all(found):
    assert [result["agreed"] for result in found[0]] == ["said by 0"] * 2
    assert [result["error"] for result in found[0]] == ["only the first knows"] * 2


def test_weights_without_a_part_in_the_output_are_named(found):
    assert all(
        "The weights 'net.unused.weight' do not contribute" in result["idle"] for result in found[0]
    )


def test_a_last_batch_leaves_two_items_to_every_process_or_none():
    for items in range(2, 60):
        for size in range(2, 12):
            for processes in range(1, size + 1):
                count, least = (
                    count_batches(items, size, processes),
                    processes * min(2, size // processes),
                )
                assert count >= 1 and (
                    items <= size or count == items // size + (items % size >= least)
                )


@pytest.fixture
def data(tmp_path):
    drawn = sprites(120, seed=0)
    np.savez(tmp_path / "data.npz", x=(255 * drawn.x).byte().numpy(), y=drawn.y.numpy())
    return tmp_path


COMMAND = [
    "learn",
    "data.npz",
    "--coordinates",
    "rotate",
    "--no-baseline",
    "--width",
    "2",
    "--test-copies",
    "1",
]


def test_torchrun_leaves_one_run_one_report_and_one_voice(data):
    torchrun = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "-m",
        "augerino",
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*torchrun, *COMMAND, "--epochs", "3", "--seeds", "2"],
        cwd=data, env=environment, capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (run,) = (data / "runs").iterdir()
    assert {"result.json", "report.html", "policy.json", "checkpoint.safetensors", "model"} <= {
        p.name for p in run.iterdir()
    }
    last = [line for line in done.stdout.splitlines() if " epoch 3/3" in line]
    assert last[0].startswith("seed 0: ") and last[-1].startswith("seed 1: ")
    assert any(line.startswith("final model: ") for line in last)
    assert len({line.split(" epoch")[0] for line in last}) == len(last)  # no training twice
    assert done.stdout.count("Report:") == 1
    assert json.loads((run / "result.json").read_text())["models"][-1]["items"] == 24


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["report", "somewhere"],
            "torchrun works with `augerino learn` only. Run `augerino report` without it.",
        ),
        (["learn", "--epohcs", "3"], "--epohcs"),
    ],
    ids=["another command", "option"],
)
def test_invalid_use_is_reported_once(data, words, sentence):
    codes, out, errors = finish(start(["-m", "augerino", *words], data))
    assert codes == [2, 2]
    reporting = [text for text in errors if sentence in text]
    assert len(reporting) == 1 and "Traceback" not in "".join(errors) and not any(out)
    assert not (data / "runs").exists()


@pytest.mark.parametrize(
    ("device", "sentence"),
    [("cuda:1", "give --device cuda, without a number"), ("cuda", "0 GPUs here")],
)
def test_every_process_has_a_gpu_of_its_own(monkeypatch, device, sentence):
    monkeypatch.setattr(distributed, "world", lambda: 2)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert distributed.own_device("cpu") == "cpu"
    with pytest.raises(InputError, match=sentence):
        distributed.own_device(device)


def test_a_batch_has_an_item_for_every_process(monkeypatch):
    monkeypatch.setattr(distributed, "world", lambda: 2)
    check_processes(Recipe(batch_size=2))
    with pytest.raises(
        InputError, match="there are 2 of them for a batch size of 1: start fewer, or give a larger"
    ):
        check_processes(Recipe(batch_size=1))


@pytest.mark.parametrize("victim", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_killed_process_ends_the_job_and_one_process_can_go_on(data, victim):
    running = start(["-m", "augerino", *COMMAND, "--epochs", "100", "--out", "run"], data)
    deadline = time.monotonic() + LIMIT
    while not (data / "run" / "checkpoint.safetensors").exists() and time.monotonic() < deadline:
        assert all(process.poll() is None for process in running), finish(running)
        time.sleep(0.02)
    running[victim].send_signal(signal.SIGKILL)
    codes, _, errors = finish(running)
    assert codes[victim] == -signal.SIGKILL and codes[1 - victim] == 1
    assert (
        "Resume with:  augerino learn --resume run  in one process or in several."
        in errors[1 - victim]
    )
    assert "Traceback" not in errors[1 - victim]
    if victim == 0:
        alone = [sys.executable, "-m", "augerino", "learn", "--resume", "run"]
        subprocess.run(alone, cwd=data, check=True, capture_output=True, timeout=LIMIT)
        assert len(json.loads((data / "run" / "history.json").read_text())) == 80  # then settled
