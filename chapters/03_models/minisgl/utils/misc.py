"""Integer helpers."""

from __future__ import annotations


def div_even(a: int, b: int, allow_replicate: bool = False) -> int:
    """a / b where b divides a, else ValueError.

    allow_replicate: with more parts than items (b > a) give 1; then b must be a multiple of a, so that each item
    is held by equally many parts.
    """
    if allow_replicate and b > a:
        if b % a:
            raise ValueError(f"{a} items cannot be spread evenly over {b} parts")
        return 1
    if a % b:
        raise ValueError(f"{a} is not divisible by {b}")
    return a // b


def div_ceil(a: int, b: int) -> int:
    """a / b rounded up."""
    return -(-a // b)


def align_ceil(a: int, b: int) -> int:
    """The smallest multiple of b that is >= a."""
    return div_ceil(a, b) * b


def align_down(a: int, b: int) -> int:
    """The largest multiple of b that is <= a."""
    return a // b * b
