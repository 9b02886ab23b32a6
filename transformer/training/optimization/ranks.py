"""The processes of a training run, started by torchrun: one per GPU, on one or several machines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

_PATIENCE = timedelta(days=7)
"""How long processes wait for each other, for example while one encodes a corpus.

A process that ends is noticed at once: its connections close, and torchrun ends the others.
"""


class RanksError(RuntimeError):
    """The processes can't train together."""


@dataclass(frozen=True)
class Ranks:
    """The processes that train a model together.

    Attributes:
        rank: rank of this process, from 0.
        count: number of processes.
        control: process group for exchanging values on the CPU; None for one process.
    """

    rank: int = 0
    count: int = 1
    control: dist.ProcessGroup | None = None

    @property
    def is_first(self) -> bool:
        """True for the process that prints and writes."""
        return self.rank == 0

    def total(self, value: float) -> float:
        """The sum of a value over all processes, available in each of them."""
        if self.control is None:
            return value
        numbers = torch.tensor([value], dtype=torch.float64)
        dist.all_reduce(numbers, group=self.control)
        return float(numbers)

    def gather(self, tensor: Tensor) -> list[Tensor]:
        """The CPU tensors of all processes, which have the same shape, by rank."""
        if self.control is None:
            return [tensor]
        tensors = [torch.empty_like(tensor) for _ in range(self.count)]
        dist.all_gather(tensors, tensor, group=self.control)
        return tensors

    def wait(self) -> None:
        """Wait for all processes."""
        self.total(0)

    def together(self, model: nn.Module) -> nn.Module:
        """Wrap a model so that the backward pass averages gradients over all processes."""
        if self.control is None:
            return model
        device = next(model.parameters()).device
        ids = [device] if device.type == "cuda" else None
        return DistributedDataParallel(
            model, device_ids=ids, forward_sync_buffers=False, gradient_as_bucket_view=True
        )


ALONE = Ranks()
"""One process."""


def launched_ranks() -> int:
    """The number of processes that torchrun started; 1 without torchrun."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def own_device(device: torch.device) -> torch.device:
    """The device of this process; each has its own GPU.

    Raises:
        RanksError: for more processes than GPUs, or a device that processes can't share.
    """
    if device.type == "cpu" or launched_ranks() == 1:
        return device
    local = int(os.environ["LOCAL_RANK"])
    if device.type != "cuda":
        raise RanksError(
            f"Several processes can't train on {device.type}: give --device cpu, or start only one."
        )
    if local >= torch.cuda.device_count():
        raise RanksError(
            f"There are {torch.cuda.device_count()} GPUs for {local + 1} processes or more: give torchrun "
            "--nproc-per-node no more than that, or --device cpu."
        )
    return torch.device("cuda", local)


def is_lost_process(error: RuntimeError) -> bool:
    """True if another process can no longer be reached."""
    return isinstance(error, dist.DistError) or "gloo" in str(error)


@contextmanager
def join_ranks(device: torch.device) -> Iterator[Ranks]:
    """Join the processes that torchrun started; `ALONE` without torchrun."""
    if launched_ranks() == 1:
        yield ALONE
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=_PATIENCE)
    control = dist.new_group(backend="gloo", timeout=_PATIENCE)
    yield Ranks(dist.get_rank(), dist.get_world_size(), control)
    dist.destroy_process_group()  # not after an error, when it would wait for dead processes
