"""One interface for CPUs and GPUs, so that the engine is written once.

A GPU works behind the host's back: streams order its work, events say how far it is, pinned memory lets copies run
beside it. A CPU has none of these: there everything is done when the call returns, and the null objects say just that.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch


class NullStream:
    """The stream of a CPU: work is done as soon as it is issued, so there is nothing to wait for."""

    def wait_stream(self, other: NullStream) -> None: ...

    def synchronize(self) -> None: ...


class NullEvent:
    """The event of a CPU: whatever was recorded has happened."""

    def record(self, stream: NullStream | None = None) -> None: ...

    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True


Stream = torch.cuda.Stream | NullStream
Event = torch.cuda.Event | NullEvent


def pick_device(name: str, rank: int = 0) -> torch.device:
    """The device that a user's word stands for.

    "auto": a GPU if there is one, else the CPU. "cuda" (and auto on a GPU): the one with the number `rank`.
    A name with an index, like "cuda:1", is taken as it is. ValueError for a device that this machine does not have,
    or a kind that the engine does not know (known: cpu, cuda).
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ValueError(f"unknown device {name!r}; known: auto, cpu, cuda, cuda:N") from error
    if device.type == "cpu":
        return torch.device("cpu")
    if device.type != "cuda":
        raise ValueError(f"unknown device {name!r}; known: auto, cpu, cuda, cuda:N")
    index = rank if device.index is None else device.index
    count = torch.cuda.device_count()
    if index >= count:
        raise ValueError(f"device cuda:{index} does not exist: this machine has {count} usable GPUs")
    return torch.device("cuda", index)


def is_cuda(device: torch.device) -> bool:
    return device.type == "cuda"


def create_stream(device: torch.device) -> Stream:
    """A new stream of the device; on a CPU a NullStream."""
    return torch.cuda.Stream(device) if is_cuda(device) else NullStream()


def create_event(device: torch.device) -> Event:
    """A new event of the device, for waiting and not for timing; on a CPU a NullEvent."""
    return torch.cuda.Event() if is_cuda(device) else NullEvent()


def set_stream(stream: Stream) -> None:
    """Make this the stream that this thread's work goes to from now on. A NullStream changes nothing."""
    if isinstance(stream, torch.cuda.Stream):
        torch.cuda.set_stream(stream)


def stream_ctx(stream: Stream) -> AbstractContextManager[object]:
    """Inside the `with` block this thread's work goes to the stream. A NullStream changes nothing."""
    return torch.cuda.stream(stream) if isinstance(stream, torch.cuda.Stream) else nullcontext()


def synchronize(device: torch.device) -> None:
    """Wait until the device has done all its work; on a CPU it has."""
    if is_cuda(device):
        torch.cuda.synchronize(device)


def to_device(values: Sequence[float], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A 1-D tensor of host numbers on the device, without making the host wait for it.

    A copy to a GPU runs beside the host only from pinned memory; a CPU needs no copy.
    """
    if is_cuda(device):
        return torch.tensor(values, dtype=dtype, pin_memory=True).to(device, non_blocking=True)
    return torch.tensor(values, dtype=dtype)


def get_free_memory(device: torch.device) -> int:
    """Bytes that may still be allocated: free memory of the GPU, or what the system calls available on a CPU."""
    if is_cuda(device):
        # What PyTorch has reserved and does not use is free as well.
        reserved = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + reserved
    import psutil

    return psutil.virtual_memory().available


def count_physical_cores(topology: Path = Path("/sys/devices/system/cpu")) -> int:
    """How many physical cores this process may run on, at least 1.

    Two hardware threads of one core share its arithmetic units: matrix products gain nothing from the second one and
    lose time to the sharing. Counted are the cores of the CPUs in the process's affinity mask, each once; `topology` is
    where Linux lists, per CPU, the threads of its core. Elsewhere the system's own count of cores is the answer.
    """
    if hasattr(os, "sched_getaffinity"):
        cpus = os.sched_getaffinity(0)
        cores = set()
        for cpu in cpus:
            siblings = topology / f"cpu{cpu}" / "topology" / "thread_siblings_list"
            cores.add(siblings.read_text().strip() if siblings.exists() else str(cpu))
        return max(1, len(cores))
    import psutil

    return psutil.cpu_count(logical=False) or os.cpu_count() or 1


def cpu_quota(path: Path = Path("/sys/fs/cgroup/cpu.max")) -> float:
    """How many CPUs' worth of time a container may use (cgroup v2: "quota period"); infinite without a limit."""
    if not path.exists():
        return float("inf")
    quota, period = path.read_text().split()
    return float("inf") if quota == "max" else int(quota) / int(period)


def num_cpu_threads(cores: int, quota: float, tp_size: int) -> int:
    """Threads for each of tp_size ranks that share `cores` physical cores and `quota` CPUs' worth of time: >= 1."""
    return max(1, int(min(cores, quota)) // tp_size)
