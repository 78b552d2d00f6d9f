"""Several processes that train one model, as torchrun starts them: which of them this is, and the few ways in which they agree.

In a process of its own nothing here does anything, so that the same code runs both ways. Values go from one process to another
through PyTorch's process group: gloo between CPUs, nccl between GPUs.
"""

import os
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from augerino.errors import InputError

T = TypeVar("T")

# What the back ends say when a process at the other end is gone. They have no error class of their own for it.
_LOST = re.compile(
    r"(?i)connection (was )?(closed|reset|refused)|broken pipe|\bpeer\b|timed? ?out|\bgloo\b|\bnccl\b"
)


def join() -> Any:
    """Joins the processes that torchrun started, by its environment variables; returns the store that all of them see."""
    from torch.distributed.rendezvous import rendezvous

    store, rank, world = next(rendezvous("env://"))
    gpus = torch.cuda.is_available() and dist.is_nccl_available()
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if gpus else "gloo", store=store, rank=rank, world_size=world
    )
    return store


def leave() -> None:
    """From now on this process is one by itself."""
    if world() > 1:
        dist.destroy_process_group()


def world() -> int:
    """How many processes train together; 1 outside of a process group."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """The number of this process, from 0. The first one is the only one that prints and writes."""
    return dist.get_rank() if world() > 1 else 0


def is_first() -> bool:
    """Whether this is the process that prints and writes."""
    return rank() == 0


def neighbours() -> int:
    """How many of the processes run on this machine, and share its cores."""
    return max(int(os.environ.get("LOCAL_WORLD_SIZE", "1")), 1) if world() > 1 else 1


def own_device(name: str) -> str:
    """The device of this process: of several on a machine, each has a GPU of its own."""
    if world() == 1 or torch.device(name).type != "cuda":
        return name
    number, gpus = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if torch.device(name).index is not None:
        raise InputError(
            f"Every process takes a GPU of its own, but --device is '{name}': give --device cuda, without a number."
        )
    if number >= gpus:
        raise InputError(
            f"Every process needs a GPU of its own, but there are {neighbours()} processes and {gpus} GPUs here: start as many "
            "as there are GPUs by --nproc-per-node, or give --device cpu."
        )
    torch.cuda.set_device(number)
    return f"cuda:{number}"


def total(values: Tensor) -> Tensor:
    """The sum of what each process has, the same in all."""
    if world() > 1:
        dist.all_reduce(values)
    return values


def mean(values: Tensor) -> Tensor:
    """The mean over the rows that all processes have together, the same in all.   values: (n, ...), on the CPU"""
    if world() == 1:
        return values.mean(dim=0)
    count = total(torch.tensor(float(len(values)), dtype=values.dtype))
    return total(values.sum(dim=0)) / count


def from_first(make: Callable[[], T]) -> T:
    """What the first process makes, in all of them; and if that cannot be made, the same error in all."""
    if world() == 1:
        return make()
    made: list[Any] = [None, None]
    if is_first():
        try:
            made[0] = make()
        except InputError as error:
            made[1] = str(error)
    dist.broadcast_object_list(
        made
    )  # pickled by one of our own processes for the others: nothing of a stranger's
    if made[1] is not None:
        raise InputError(made[1])
    return made[0]


def gather(value: T) -> list[T]:
    """What each process has, in the order of their numbers, in all of them."""
    if world() == 1:
        return [value]
    found: list[Any] = [None] * world()
    dist.all_gather_object(found, value)
    return found


def copy_from_first(*tensors: Tensor) -> None:
    """Overwrites tensors by those of the first process, bit for bit."""
    if world() > 1:
        with torch.no_grad():
            for tensor in tensors:
                dist.broadcast(
                    tensor.view(torch.uint8) if tensor.dtype == torch.bool else tensor, 0
                )  # gloo knows no bools


def parallel(model: nn.Module, *, resting: bool = False) -> nn.Module:
    """The model as its training calls it: its gradients, of weights and theta together, become the mean over all processes.

    Weights and buffers are the first process's. Batch norms normalise each process's share of a batch by itself, and their
    running statistics are those of the first: `nn.SyncBatchNorm`, which PyTorch has for GPUs, does otherwise. With `resting`,
    some weights may have no gradient in some steps, the same in all processes.
    """
    if world() == 1 or not any(parameter.requires_grad for parameter in model.parameters()):
        return model
    return nn.parallel.DistributedDataParallel(model, find_unused_parameters=resting)


def check_gradients(model: nn.Module, resting: Sequence[nn.Parameter] = ()) -> None:
    """Refuses, after a step's backward, a network with weights that had no part in it: the mean would wait for them for ever.

    Those that rest in this step are known to have none.
    """
    if world() == 1:
        return
    known = {id(parameter) for parameter in resting}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and parameter.grad is None and id(parameter) not in known:
            raise InputError(
                f"The weights '{name}' have no part in the network's output, which several processes need to train it: remove "
                "them, or call requires_grad_(False) on them."
            )


def is_lost(error: BaseException) -> bool:
    """Whether an error says that another process has gone, rather than that something is wrong here."""
    return world() > 1 and (
        isinstance(error, dist.DistError)
        or (isinstance(error, RuntimeError) and bool(_LOST.search(str(error))))
    )
