"""Which part of a tensor-parallel group this process is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DistributedInfo:
    """Rank `rank` of `size` processes that compute one model together. ValueError unless 0 <= rank < size."""

    rank: int
    size: int

    def __post_init__(self) -> None:
        if not 0 <= self.rank < self.size:
            raise ValueError(f"0 <= rank < size does not hold: rank {self.rank}, size {self.size}")

    @property
    def is_primary(self) -> bool:
        return self.rank == 0


_TP_INFO: DistributedInfo | None = None


def set_tp_info(rank: int, size: int) -> None:
    """Say once, before any layer is built, which shard this process holds. RuntimeError if it was said before."""
    global _TP_INFO
    if _TP_INFO is not None:
        raise RuntimeError(f"the TP info is set already: {_TP_INFO}")
    _TP_INFO = DistributedInfo(rank, size)


def get_tp_info() -> DistributedInfo:
    """What set_tp_info said. RuntimeError if it was not called."""
    if _TP_INFO is None:
        raise RuntimeError("the TP info is not set: call set_tp_info(rank, size) first")
    return _TP_INFO


def try_get_tp_info() -> DistributedInfo | None:
    """What set_tp_info said, or None."""
    return _TP_INFO


def current_tp_info() -> DistributedInfo:
    """What set_tp_info said, or rank 0 of 1: a process that was told nothing works alone. The layers ask this."""
    return _TP_INFO or DistributedInfo(0, 1)


def reset_tp_info() -> None:
    """Forget the TP info, so that another engine can start in this process."""
    global _TP_INFO
    _TP_INFO = None
