"""CUDA graphs: record the launches of a decode step once, then replay them all with a single call.

A recorded step reads and writes fixed addresses. So the inputs lie in buffers that stay where they are; before a
replay the real batch is copied into them, padded with the dummy request to the next captured size.

Where there is no GPU, EmulatedGraph runs the same step again over the same buffers. It gains no time, but it sees what
a replay would see and nothing else: an input that was not copied is stale there too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from minisgl.core import Batch, Req, get_global_ctx
from minisgl.models import BaseLLMModel
from minisgl.utils.device import Stream, is_cuda, synchronize
from minisgl.utils.logger import init_logger

logger = init_logger(__name__)

GIB = 1 << 30


class Graph(Protocol):
    def replay(self) -> None: ...


class EmulatedGraph:
    """A graph for the CPU: replay() calls fn again with the captured batch as the active one."""

    def __init__(self, fn: Callable[[], None], batch: Batch) -> None:
        self._fn = fn
        self._batch = batch

    def replay(self) -> None:
        with get_global_ctx().forward_batch(self._batch):
            self._fn()


@dataclass
class GraphCaptureBuffer:
    """The memory that captured steps read and write. A batch of n requests uses the first n rows of each."""

    input_ids: torch.Tensor  # int32 [max_bs]
    positions: torch.Tensor  # int32 [max_bs]
    out_loc: torch.Tensor  # int32 [max_bs]
    logits: torch.Tensor  # model dtype [max_bs, vocab]

    @classmethod
    def create(cls, max_bs: int, vocab_size: int, dtype: torch.dtype, device: torch.device) -> GraphCaptureBuffer:
        """Zeros, except out_loc, which the caller sets to a slot that padding may write."""
        ids, positions, out_loc = (torch.zeros(max_bs, dtype=torch.int32, device=device) for _ in range(3))
        return cls(ids, positions, out_loc, torch.zeros((max_bs, vocab_size), dtype=dtype, device=device))

    def set_batch(self, batch: Batch) -> None:
        """Make the batch's input_ids, positions and out_loc the first padded_size rows of the buffers themselves."""
        size = batch.padded_size
        batch.input_ids, batch.positions = self.input_ids[:size], self.positions[:size]
        batch.out_loc = self.out_loc[:size]

    def copy_from(self, batch: Batch) -> None:
        """Copy the batch's input_ids, positions and out_loc, each int32 [padded_size], into the buffers."""
        size = batch.padded_size
        self.input_ids[:size].copy_(batch.input_ids)
        self.positions[:size].copy_(batch.positions)
        self.out_loc[:size].copy_(batch.out_loc)


def determine_cuda_graph_bs(
    cuda_graph_bs: Sequence[int] | None, cuda_graph_max_bs: int | None, free_memory: int, device: torch.device
) -> list[int]:
    """The batch sizes to capture, ascending and each once; [] means no graphs.

    cuda_graph_bs, if given, is the answer (ValueError for a size below 1). Else the sizes 1, 2, 4, the multiples of 8
    and the largest size itself, up to cuda_graph_max_bs. If that is None: on a CPU no graphs; on a GPU up to 256 with
    more than 80 GiB of free memory (in bytes), else up to 160.
    """
    if cuda_graph_bs is not None:
        if any(size < 1 for size in cuda_graph_bs):
            raise ValueError(f"cuda_graph_bs must be at least 1 each, got {list(cuda_graph_bs)}")
        return sorted(set(cuda_graph_bs))
    if cuda_graph_max_bs is None:
        if not is_cuda(device):
            return []
        cuda_graph_max_bs = 256 if free_memory > 80 * GIB else 160
    if cuda_graph_max_bs < 1:
        return []
    sizes = {1, 2, 4, cuda_graph_max_bs, *range(8, cuda_graph_max_bs + 1, 8)}
    return sorted(size for size in sizes if size <= cuda_graph_max_bs)


def why_not_captured(attn_backend: Any, moe_backend: Any, is_moe: bool, device: torch.device) -> str | None:
    """Why a decode step cannot be captured on this device, or None if it can.

    A backend lists in `graph_devices` the device types on which its step neither waits for the host nor reads host
    data. The models' own loop over experts asks the device which experts are used, so it cannot be captured on a GPU.
    """
    if device.type not in getattr(attn_backend, "graph_devices", ()):
        return f"{type(attn_backend).__name__} cannot be captured on {device.type}"
    if is_moe and is_cuda(device) and device.type not in getattr(moe_backend, "graph_devices", ()):
        backend = "the loop over experts" if moe_backend is None else type(moe_backend).__name__
        return f"{backend} waits for the host"
    return None


class GraphRunner:
    """Captures decode steps of some batch sizes at start and replays them. With no sizes it does nothing."""

    def __init__(
        self,
        stream: Stream,
        device: torch.device,
        model: BaseLLMModel,
        attn_backend: Any,
        moe_backend: Any,
        is_moe: bool,
        cuda_graph_bs: Sequence[int] | None,
        cuda_graph_max_bs: int | None,
        free_memory: int,
        max_seq_len: int,
        vocab_size: int,
        dtype: torch.dtype,
        dummy_req: Req,
    ) -> None:
        """max_seq_len: columns of the page table. dummy_req: fills captured and padded batches; its row is set up."""
        self._stream = stream
        self._device = device
        self._model = model
        self._attn_backend = attn_backend
        self._dummy_req = dummy_req
        self._graphs: dict[int, Graph] = {}
        self.sizes = determine_cuda_graph_bs(cuda_graph_bs, cuda_graph_max_bs, free_memory, device)
        if not self.sizes:
            return
        reason = why_not_captured(attn_backend, moe_backend, is_moe, device)
        if reason is not None:
            logger.warning_rank0("CUDA graphs are off: %s", reason)
            self.sizes = []
            return
        self._buffer = GraphCaptureBuffer.create(self.sizes[-1], vocab_size, dtype, device)
        self._buffer.out_loc.fill_(int(get_global_ctx().page_table[dummy_req.table_idx, 0]))
        attn_backend.init_capture_graph(max_seq_len, self.sizes)
        self._capture_all()

    @property
    def max_size(self) -> int:
        """The largest captured batch size, 0 without graphs."""
        return self.sizes[-1] if self.sizes else 0

    def can_use_cuda_graph(self, batch: Batch) -> bool:
        """True for a decode batch that is not larger than the largest captured one."""
        return batch.is_decode and batch.size <= self.max_size

    def pad_batch(self, batch: Batch) -> None:
        """Set batch.padded_reqs: the requests, and dummies behind them up to the next captured size.

        A batch that no graph can run stays without dummies. Before the batch's tensors are made.
        """
        target = batch.size
        if self.can_use_cuda_graph(batch):
            target = next(size for size in self.sizes if size >= batch.size)
        batch.padded_reqs = batch.reqs + [self._dummy_req] * (target - batch.size)

    def replay(self, batch: Batch) -> torch.Tensor:
        """Run a padded and prepared batch from its graph: logits [batch.size, vocab], valid until the next replay.

        The batch's inputs are copied into the buffers, and the attention backend renews what it has captured
        (prepare_for_replay); only then is the graph replayed.
        """
        self._buffer.copy_from(batch)
        self._attn_backend.prepare_for_replay(batch)
        self._graphs[batch.padded_size].replay()
        return self._buffer.logits[: batch.size]

    def destroy_cuda_graphs(self) -> None:
        """Free the graphs; before the process group goes, since they may hold its collectives."""
        self._graphs.clear()
        self.sizes = []

    @torch.inference_mode()
    def _capture_all(self) -> None:
        pool = None
        # The largest first: the smaller ones then find room in its memory pool.
        for size in reversed(self.sizes):
            batch = Batch([self._dummy_req] * size, "decode")
            self._buffer.set_batch(batch)
            self._attn_backend.prepare_for_capture(batch)
            logits = self._buffer.logits[:size]

            def step(logits: torch.Tensor = logits) -> None:
                logits.copy_(self._model.forward())

            if not is_cuda(self._device):
                self._graphs[size] = EmulatedGraph(step, batch)
                continue
            graph = torch.cuda.CUDAGraph()
            with get_global_ctx().forward_batch(batch):
                step()  # a first run allocates workspaces and compiles kernels, which must not happen while recording
                synchronize(self._device)
                with torch.cuda.graph(graph, pool=pool, stream=self._stream):
                    step()
            pool = pool or graph.pool()
            self._graphs[size] = graph
        logger.info_rank0("captured decode steps of %s requests", ", ".join(map(str, self.sizes)))
