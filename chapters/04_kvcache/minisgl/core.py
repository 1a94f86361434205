"""The objects that every part of the engine passes around: SamplingParams, Req, Batch and Context.

A request's state is three lengths over one row of tokens:

    0 ........ cached_len ........ device_len ........ max_device_len
    | KV is in the pool | to compute now   | room for tokens to come  |
                        |<- extend_len  -> |<-     remain_len      -> |
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal

import torch


def _is_real(value: object) -> bool:
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an int too large for a float
        return False


def _is_int(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


@dataclass(frozen=True)
class SamplingParams:
    """How one request wants its tokens chosen. Checked when it is made; frozen, since requests may share one.

    temperature: logits are divided by it; 0 means greedy.
    top_k: keep the k most probable tokens; -1 and 0 turn the filter off.
    top_p: keep the smallest set of tokens whose probability reaches top_p; 1.0 turns the filter off.
    min_p: drop tokens less probable than min_p times the most probable one; 0.0 turns the filter off.
    seed: a 64-bit integer; the same seed and the same logits give the same tokens. None: not reproducible.
    ignore_eos: go on after an end-of-sequence token.
    max_tokens: generate at most so many tokens.
    """

    temperature: float = 0.0
    top_k: int = -1
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int | None = None
    ignore_eos: bool = False
    max_tokens: int = 1024

    def __post_init__(self) -> None:
        self.validate()

    @property
    def is_greedy(self) -> bool:
        """True when the most probable token is always taken: temperature <= 0 or top_k == 1, whatever top_p is."""
        return self.temperature <= 0 or self.top_k == 1

    def validate(self) -> None:
        """Raise ValueError, with the field's name in the message, for a value that no sampler can follow.

        temperature: a finite number >= 0. top_p, min_p: numbers in [0, 1]. top_k: an int >= -1.
        max_tokens: an int >= 1. seed: None or an int in [-2**63, 2**63). NaN, infinity, strings, None (but for seed)
        and bools (which Python counts as ints) are refused.
        """
        if not _is_real(self.temperature) or self.temperature < 0:
            raise ValueError(f"temperature must be a finite number >= 0, got {self.temperature!r}")
        for name in ("top_p", "min_p"):
            value = getattr(self, name)
            if not _is_real(value) or not 0 <= value <= 1:
                raise ValueError(f"{name} must be a number in [0, 1], got {value!r}")
        if not _is_int(self.top_k) or self.top_k < -1:
            raise ValueError(f"top_k must be an int >= -1, got {self.top_k!r}")
        if not _is_int(self.max_tokens) or self.max_tokens < 1:
            raise ValueError(f"max_tokens must be an int >= 1, got {self.max_tokens!r}")
        if self.seed is not None and not (_is_int(self.seed) and -(2**63) <= self.seed < 2**63):
            raise ValueError(f"seed must be None or a 64-bit int, got {self.seed!r}")


class Req:
    """One request, from admission to its last token. Compared and hashed by identity.

    input_ids: the prompt, a CPU int32 tensor [n]; it is copied.
    table_idx: the request's row in the page table.
    cached_len: how many of the first tokens have their KV in the pool already.
    output_len: how many tokens may be generated.
    uid: the number that the client knows the request by.
    cache_handle: what the prefix cache gave out for the cached tokens.

    Invariant: 0 <= cached_len < device_len <= max_device_len. At least one token is always computed anew:
    without a query there are no logits to sample from.

    ValueError if input_ids is not a 1-D int32 CPU tensor or the lengths break the invariant.
    """

    def __init__(
        self,
        input_ids: torch.Tensor,
        table_idx: int,
        cached_len: int,
        output_len: int,
        uid: int,
        sampling_params: SamplingParams,
        cache_handle: Any = None,
    ) -> None:
        if input_ids.dim() != 1 or input_ids.dtype != torch.int32 or input_ids.device.type != "cpu":
            got = f"{list(input_ids.shape)} {input_ids.dtype} on {input_ids.device}"
            raise ValueError(f"input_ids must be a 1-D int32 CPU tensor, got {got}")
        self.table_idx = table_idx
        self.uid = uid
        self.sampling_params = sampling_params
        self.cache_handle = cache_handle

        self.cached_len = cached_len
        self.device_len = len(input_ids)
        self.max_device_len = len(input_ids) + output_len
        if not 0 <= self.cached_len < self.device_len <= self.max_device_len:
            got = f"{self.cached_len}, {self.device_len}, {self.max_device_len}"
            raise ValueError(f"request {uid}: 0 <= cached_len < device_len <= max_device_len does not hold: {got}")

        # Room for every token the request can ever have, so that a new one is a write and not a copy of all before.
        self._tokens = torch.empty(self.max_device_len, dtype=torch.int32)
        self._tokens[: self.device_len] = input_ids
        self._num_tokens = self.device_len

    @property
    def input_ids(self) -> torch.Tensor:
        """The tokens known on the host, int32 [n]: a view. While a step is in flight n is device_len - 1."""
        return self._tokens[: self._num_tokens]

    @property
    def extend_len(self) -> int:
        """How many tokens the next forward pass computes: those on the device whose KV is not in the pool yet."""
        return self.device_len - self.cached_len

    @property
    def remain_len(self) -> int:
        """How many tokens may still be generated."""
        return self.max_device_len - self.device_len

    @property
    def can_decode(self) -> bool:
        """True while at least one more token may be generated."""
        return self.remain_len > 0

    def complete_one(self) -> None:
        """Account for one forward pass: all device_len tokens now have KV, and one sampled token joins them.

        Afterwards cached_len is the old device_len and device_len is one more. The token's value is not needed:
        it may still be on its way from the device. RuntimeError (lengths unchanged) if no token may be generated.
        """
        if not self.can_decode:
            raise RuntimeError(f"{self} may not generate another token")
        self.cached_len = self.device_len
        self.device_len += 1

    def append_host(self, token: int | torch.Tensor) -> None:
        """Add one sampled token (an int or a one-element tensor) to the tokens known on the host.

        Takes constant time: it writes into the buffer that __init__ reserved and never copies the earlier tokens.
        RuntimeError if all max_device_len tokens are there.
        """
        if self._num_tokens == self.max_device_len:
            raise RuntimeError(f"{self} has all its {self.max_device_len} tokens")
        self._tokens[self._num_tokens] = int(token)
        self._num_tokens += 1

    def __repr__(self) -> str:
        lengths = f"cached={self.cached_len}, device={self.device_len}, max={self.max_device_len}"
        return f"Req(uid={self.uid}, row={self.table_idx}, {lengths})"


@dataclass(eq=False)
class Batch:
    """The requests of one forward pass. The tensors are packed: the requests' tokens one after another, no padding.

    With T = the sum of extend_len over padded_reqs, these are set before the forward pass:
    input_ids: int32 [T]; positions: int32 [T], a token's index in its request; out_loc: int32 [T], the slot in the
    KV pool that gets the token's KV; attn_metadata: what the attention backend needs to know.
    padded_reqs: reqs, and dummies behind them where a fixed size is needed. Nobody wants the dummies' tokens.
    ValueError for a batch without requests or an unknown phase.
    """

    reqs: list[Req]
    phase: Literal["prefill", "decode"]
    padded_reqs: list[Req] = field(init=False)
    input_ids: torch.Tensor = field(init=False)
    positions: torch.Tensor = field(init=False)
    out_loc: torch.Tensor = field(init=False)
    attn_metadata: Any = field(init=False)

    def __post_init__(self) -> None:
        if not self.reqs:
            raise ValueError("a batch needs at least one request")
        if self.phase not in ("prefill", "decode"):
            raise ValueError(f"phase must be 'prefill' or 'decode', got {self.phase!r}")
        self.padded_reqs = list(self.reqs)

    @property
    def is_prefill(self) -> bool:
        return self.phase == "prefill"

    @property
    def is_decode(self) -> bool:
        return self.phase == "decode"

    @property
    def size(self) -> int:
        return len(self.reqs)

    @property
    def padded_size(self) -> int:
        return len(self.padded_reqs)

    def host_positions(self) -> torch.Tensor:
        """The positions of the tokens to compute, a new CPU int32 tensor [T].

        For each of padded_reqs in order: cached_len, cached_len + 1, ..., device_len - 1.
        """
        return torch.cat([torch.arange(r.cached_len, r.device_len, dtype=torch.int32) for r in self.padded_reqs])

    def host_input_ids(self) -> torch.Tensor:
        """The ids of the tokens to compute, a new CPU int32 tensor [T], in the order of host_positions.

        RuntimeError, naming the request, if one of them is not known on the host yet (append_host is still to come).
        """
        pieces = []
        for req in self.padded_reqs:
            if len(req.input_ids) < req.device_len:
                raise RuntimeError(f"{req}: the host knows only {len(req.input_ids)} of its tokens")
            pieces.append(req.input_ids[req.cached_len : req.device_len])
        return torch.cat(pieces)


@dataclass(eq=False)
class Context:
    """What all layers of a process share, so that a model's forward() needs no argument.

    page_size: tokens per page of the KV pool. The others are set once the device and the memory are known:
    page_table: int32 [rows, max_seq_len], the pool's slot of each (row, position).
    attn_backend, moe_backend, kv_cache: who computes attention and experts, and where KV is kept.
    """

    page_size: int
    page_table: torch.Tensor = field(init=False)
    attn_backend: Any = field(init=False)
    moe_backend: Any = field(init=False)
    kv_cache: Any = field(init=False)
    _batch: Batch | None = field(init=False, default=None)

    @property
    def batch(self) -> Batch:
        """The batch that is being computed. RuntimeError outside of forward_batch."""
        if self._batch is None:
            raise RuntimeError("no batch is active: use `with ctx.forward_batch(batch):`")
        return self._batch

    @contextmanager
    def forward_batch(self, batch: Batch) -> Iterator[None]:
        """Make batch the active one inside a `with` block, and none afterwards, also when the block raises anything.

        Nothing changes before the block is entered. RuntimeError if a batch is active, even the same; it stays active.
        """
        if self._batch is not None:
            raise RuntimeError("a batch is active already: forward_batch cannot be nested")
        self._batch = batch
        try:
            yield
        finally:
            self._batch = None


_GLOBAL_CTX: Context | None = None


def set_global_ctx(ctx: Context) -> None:
    """Set the process's context. RuntimeError if there is one already."""
    global _GLOBAL_CTX
    if _GLOBAL_CTX is not None:
        raise RuntimeError("the global context is set already: call reset_global_ctx() first")
    _GLOBAL_CTX = ctx


def get_global_ctx() -> Context:
    """The process's context. RuntimeError if none is set."""
    if _GLOBAL_CTX is None:
        raise RuntimeError("no global context: call set_global_ctx(Context(page_size)) first")
    return _GLOBAL_CTX


def reset_global_ctx() -> None:
    """Forget the process's context, if there is one."""
    global _GLOBAL_CTX
    _GLOBAL_CTX = None
