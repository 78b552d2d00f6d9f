"""Training in several processes, as torchrun starts them.

In a single process the functions here do nothing, so that the same code runs both ways. The
processes communicate through PyTorch's process group: gloo between CPUs, nccl between GPUs.
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

# Messages of the back ends when another process has ended; they have no error class for it.
_LOST = re.compile(
    r"(?i)connection (was )?(closed|reset|refused)|broken pipe|\bpeer\b|timed? ?out"
    r"|\bgloo\b|\bnccl\b"
)


def join() -> Any:
    """Joins the process group that torchrun's environment variables describe; returns its store."""
    from torch.distributed.rendezvous import rendezvous

    store, rank, world_size = next(rendezvous("env://"))
    has_gpus = torch.cuda.is_available() and dist.is_nccl_available()
    backend = "cpu:gloo,cuda:nccl" if has_gpus else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=world_size)
    return store


def leave() -> None:
    """Leaves the process group; this process then works on its own."""
    if world() > 1:
        dist.destroy_process_group()


def world() -> int:
    """The number of processes that train together; 1 outside of a process group."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_world_size()
    return 1


def rank() -> int:
    """The number of this process, from 0. Only the first process prints and writes."""
    return dist.get_rank() if world() > 1 else 0


def is_first() -> bool:
    """Whether this is the process that prints and writes."""
    return rank() == 0


def local_world() -> int:
    """The number of these processes on this machine, which share its cores."""
    if world() == 1:
        return 1
    return max(int(os.environ.get("LOCAL_WORLD_SIZE", "1")), 1)


def own_device(name: str) -> str:
    """The device of this process: with "cuda", each process on a machine gets its own GPU."""
    if world() == 1:
        return name
    device = torch.device(name)
    if device.type != "cuda":
        return name
    if device.index is not None:
        raise InputError(
            f"Every process takes its own GPU, but --device is '{name}': "
            "give --device cuda, without a number."
        )
    number = int(os.environ.get("LOCAL_RANK", "0"))
    n_gpus = torch.cuda.device_count()
    if number >= n_gpus:
        raise InputError(
            f"Every process needs its own GPU, but there are {local_world()} processes and "
            f"{n_gpus} GPUs here: start as many as there are GPUs by --nproc-per-node, "
            "or give --device cpu."
        )
    torch.cuda.set_device(number)
    return f"cuda:{number}"


def total(values: Tensor) -> Tensor:
    """The sum over processes, the same in all of them. Changes `values` in place."""
    if world() > 1:
        dist.all_reduce(values)
    return values


def mean(values: Tensor) -> Tensor:
    """The mean over the rows of all processes, the same in all of them.

    values: (n, ...), on the CPU; n may differ between processes.
    """
    if world() == 1:
        return values.mean(dim=0)
    count = total(torch.tensor(float(len(values)), dtype=values.dtype))
    return total(values.sum(dim=0)) / count


def from_first(make: Callable[[], T]) -> T:
    """Calls a function in the first process and returns its result in all of them.

    An InputError of the first process is raised in all.
    """
    if world() == 1:
        return make()
    message: list[Any] = [None, None]  # result, text of the error
    if is_first():
        try:
            message[0] = make()
        except InputError as error:
            message[1] = str(error)
    dist.broadcast_object_list(message)  # pickled by one of our own processes, so it is trusted
    result, error_text = message
    if error_text is not None:
        raise InputError(error_text)
    return result


def gather(value: T) -> list[T]:
    """The values of all processes, by rank, in all of them."""
    if world() == 1:
        return [value]
    values: list[Any] = [None] * world()
    dist.all_gather_object(values, value)
    return values


def copy_from_first(*tensors: Tensor) -> None:
    """Overwrites tensors with those of the first process, bit for bit."""
    if world() == 1:
        return
    with torch.no_grad():
        for tensor in tensors:
            is_bool = tensor.dtype == torch.bool  # gloo does not support it
            dist.broadcast(tensor.view(torch.uint8) if is_bool else tensor, 0)


def parallel(model: nn.Module, *, resting: bool = False) -> nn.Module:
    """The model in DistributedDataParallel, which averages gradients over all processes.

    Weights and buffers are those of the first process. Batch norm normalises the items of each
    process separately, and its running statistics are those of the first process; use
    `nn.SyncBatchNorm` on GPUs for joint statistics.

    Args:
        model: network and augmentation.
        resting: whether some weights have no gradient in some steps, the same in all processes.
    """
    if world() == 1 or not any(parameter.requires_grad for parameter in model.parameters()):
        return model
    return nn.parallel.DistributedDataParallel(model, find_unused_parameters=resting)


def require_gradients(model: nn.Module, resting: Sequence[nn.Parameter] = ()) -> None:
    """Raises InputError for weights without a gradient, for which the average would wait forever.

    Args:
        model: after the backward pass of a step.
        resting: parameters that have no gradient in this step on purpose.
    """
    if world() == 1:
        return
    excused = {id(parameter) for parameter in resting}
    for name, parameter in model.named_parameters():
        is_missing = parameter.requires_grad and parameter.grad is None
        if is_missing and id(parameter) not in excused:
            raise InputError(
                f"The weights '{name}' do not contribute to the network's output, which several "
                "processes need to train it: remove them, or call requires_grad_(False) on them."
            )


def is_lost(error: BaseException) -> bool:
    """Whether an error means that another process has ended."""
    if world() == 1:
        return False
    if isinstance(error, dist.DistError):
        return True
    return isinstance(error, RuntimeError) and _LOST.search(str(error)) is not None
