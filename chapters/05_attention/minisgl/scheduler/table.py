"""Rows of the page table and the token pool: one per running request."""

from __future__ import annotations

import torch


def page_slots(pages: torch.Tensor, page_size: int) -> torch.Tensor:
    """The slots of some pages, one page after the other: what a row of the page table holds for a request.

    pages: int32 [n], page numbers in the order in which the request fills them -> int32 [n * page_size]:
    pages[0] * page_size, pages[0] * page_size + 1, ..., then those of pages[1], and so on.
    """
    offsets = torch.arange(page_size, dtype=torch.int32, device=pages.device)
    return (pages[:, None] * page_size + offsets).flatten()


class TableManager:
    """Gives out the rows of the page table. Row i belongs to the same request in both tables:

    page_table: int32 [rows, max_seq_len]; entry (row, position) is the token's slot in the KV pool.
    token_pool: the same shape; entry (row, position) is the token's id. It is on the device, so that a step can read
        the token that the step before has sampled without a way through the host.
    """

    def __init__(self, max_running_reqs: int, page_table: torch.Tensor) -> None:
        """Rows 0 .. max_running_reqs - 1 are given out; any further rows of page_table are somebody else's.

        page_table: int32 [>= max_running_reqs, max_seq_len], kept by reference. The token pool is new and all zeros.
        ValueError if the table has too few rows.
        """
        if len(page_table) < max_running_reqs:
            raise ValueError(f"{max_running_reqs} requests need as many rows, the page table has {len(page_table)}")
        self.page_table = page_table
        self.token_pool = torch.zeros_like(page_table, dtype=torch.int32)
        self._max_running_reqs = max_running_reqs
        self._free = list(range(max_running_reqs - 1, -1, -1))  # the next one to give out is the last

    @property
    def available_size(self) -> int:
        """How many rows are free."""
        return len(self._free)

    def allocate(self) -> int:
        """Take a free row: at first 0, 1, 2, ...; later the one that was freed last. RuntimeError if none is free."""
        if not self._free:
            raise RuntimeError(f"all {self._max_running_reqs} rows of the page table are in use")
        return self._free.pop()

    def free(self, row: int) -> None:
        """Give a row back. What the tables hold in it stays: the next owner overwrites it.

        ValueError if there is no such row to give out or if it is free already: two requests would get the same row,
        and each would read the other's tokens.
        """
        if not 0 <= row < self._max_running_reqs:
            raise ValueError(f"row {row} is not one of the {self._max_running_reqs} that are given out")
        if row in self._free:
            raise ValueError(f"row {row} is free already")
        self._free.append(row)
