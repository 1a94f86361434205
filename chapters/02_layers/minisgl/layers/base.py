"""What a layer is here: an object that can name its weights and take them over. Training would need more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def take_weight(state_dict: dict[str, torch.Tensor], name: str, like: torch.Tensor) -> torch.Tensor:
    """Remove the weight of that name from state_dict and return it, once it is known to fit.

    KeyError if it is missing; ValueError if its shape or dtype is not that of `like` (which may be on the meta
    device). Both name the weight.
    """
    if name not in state_dict:
        raise KeyError(f"weight {name} is missing from the checkpoint")
    weight = state_dict.pop(name)
    if weight.shape != like.shape or weight.dtype != like.dtype:
        raise ValueError(
            f"weight {name}: the layer wants {list(like.shape)} {like.dtype}, "
            f"the checkpoint has {list(weight.shape)} {weight.dtype}"
        )
    return weight


class BaseOP(ABC):
    """A layer. Its weights are its tensor attributes, named by the path to them, as in `mlp.gate_up_proj.weight`.

    Attributes whose name begins with an underscore are private: no weight is looked for in them.
    """

    @abstractmethod
    def forward(self, *args: Any, **kwargs: Any) -> Any: ...

    def state_dict(self, prefix: str = "", result: dict[str, torch.Tensor] | None = None) -> dict[str, torch.Tensor]:
        """Collect the weights into result (a new dict if None) under their dotted names, and return it.

        Attributes are visited in the order in which they were set: a tensor is entered as `prefix.name` (or `name` if
        prefix is empty), another BaseOP is asked with that name as its prefix, everything else is passed over.
        The tensors are not copied.
        """
        raise NotImplementedError("TODO 150: BaseOP: collect weights and take them over")

    def load_state_dict(
        self, state_dict: Mapping[str, torch.Tensor], prefix: str = "", *, _internal: bool = False
    ) -> None:
        """Replace each tensor that state_dict() lists by the one of the same name, by reference and without a copy.

        The outermost call works on a shallow copy of the dict, so the caller keeps its own. Nested calls
        (_internal=True) take what is theirs out of the dict that they are given.

        KeyError: a weight is missing. ValueError: its shape or dtype differs (see take_weight).
        RuntimeError: the outermost call has weights left that no layer asked for; the message lists their names.
        """
        raise NotImplementedError("TODO 150: BaseOP: collect weights and take them over")


class StateLessOP(BaseOP):
    """A layer that owns no weights, even if it refers to layers that do: those are listed by their owner."""

    def state_dict(self, prefix: str = "", result: dict[str, torch.Tensor] | None = None) -> dict[str, torch.Tensor]:
        return {} if result is None else result

    def load_state_dict(
        self, state_dict: Mapping[str, torch.Tensor], prefix: str = "", *, _internal: bool = False
    ) -> None:
        if state_dict and not _internal:
            raise RuntimeError(f"the model has no place for these weights: {', '.join(sorted(state_dict))}")


class OPList(BaseOP):
    """A row of layers; their names are their indices, as in `layers.0.mlp`."""

    def __init__(self, ops: Sequence[BaseOP]) -> None:
        self.op_list = list(ops)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("a list of layers has no forward of its own: call its members")

    def state_dict(self, prefix: str = "", result: dict[str, torch.Tensor] | None = None) -> dict[str, torch.Tensor]:
        """As in BaseOP; the i-th layer's prefix is `prefix.i` (or `i` if prefix is empty)."""
        raise NotImplementedError("TODO 150: BaseOP: collect weights and take them over")

    def load_state_dict(
        self, state_dict: Mapping[str, torch.Tensor], prefix: str = "", *, _internal: bool = False
    ) -> None:
        """As in BaseOP, errors included; the i-th layer's prefix is `prefix.i` (or `i` if prefix is empty)."""
        raise NotImplementedError("TODO 150: BaseOP: collect weights and take them over")
