"""Names that a user types, and what they stand for."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Registry(Generic[T]):
    """A table from name to factory. kind is the word that error messages use for the entries."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._entries: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator that enters a factory under name. KeyError if the name is taken."""

        def add(entry: T) -> T:
            if name in self._entries:
                raise KeyError(f"{self._kind} {name!r} is registered twice")
            self._entries[name] = entry
            return entry

        return add

    def __getitem__(self, name: str) -> T:
        """The factory of that name. KeyError, with the known names, if there is none."""
        if name not in self._entries:
            raise KeyError(f"unknown {self._kind} {name!r}; known: {', '.join(self.supported_names())}")
        return self._entries[name]

    def supported_names(self) -> list[str]:
        """The names in the order in which they were registered."""
        return list(self._entries)

    def assert_supported(self, name: str) -> str:
        """Return name if it is known; usable as an argparse type. argparse.ArgumentTypeError if not."""
        if name not in self._entries:
            raise argparse.ArgumentTypeError(
                f"unknown {self._kind} {name!r}; known: {', '.join(self.supported_names())}"
            )
        return name
