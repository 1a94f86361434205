"""What this process may use of the machine: cores, memory, and the versions of the packages. Standard library only."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

REPORTED = ("torch", "transformers", "numpy", "safetensors", "pytest")


def cores() -> float:
    """Cores that this process may use: its affinity, and the quota of its container where there is one."""
    count = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    quota = _first_line("/sys/fs/cgroup/cpu.max").split()
    if len(quota) == 2 and quota[0].isdigit():
        count = min(count, int(quota[0]) / int(quota[1]))
    return int(count) if count == int(count) else round(count, 2)


def memory() -> tuple[int, int]:
    """Bytes of memory that this process can have in all, and that are free now; zeros where the system does not say."""
    total = free = 0
    for line in _text("/proc/meminfo").splitlines():
        key, _, value = line.partition(":")
        if key == "MemTotal":
            total = int(value.split()[0]) << 10
        elif key == "MemAvailable":
            free = int(value.split()[0]) << 10
    if not total:
        try:
            import psutil
        except ImportError:
            return 0, 0
        found = psutil.virtual_memory()
        total, free = found.total, found.available
    limit = _first_line("/sys/fs/cgroup/memory.max")
    if limit.isdigit() and 0 < int(limit) < total:
        total = int(limit)
        used = _first_line("/sys/fs/cgroup/memory.current")
        free = min(free, total - int(used)) if used.isdigit() else min(free, total)
    return total, max(0, free)


def installed(name: str) -> str | None:
    """The version of a package, or None; the package is not imported."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def describe() -> dict:
    """What a report says about where it was made."""
    return {
        "python": platform.python_version(), "platform": platform.platform(), "executable": Path(sys.executable).name,
        "cores": cores(), "memory": memory()[0], "packages": {name: installed(name) for name in REPORTED},
    }  # fmt: skip


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _first_line(path: str) -> str:
    return _text(path).partition("\n")[0].strip()
