"""The engine: model, KV pool, attention and sampler on one device, and one forward pass over a batch.

It decides nothing. Which requests run, and in which rows and pages, is somebody else's business: the engine is given a
batch with its page-table rows filled in, and gives back one token per request.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import NamedTuple

import torch
import torch.distributed as dist

from minisgl.attention import create_attention_backend
from minisgl.core import Batch, Context, Req, SamplingParams, reset_global_ctx, set_global_ctx
from minisgl.distributed import reset_tp_info, set_tp_info, try_get_tp_info
from minisgl.kvcache import create_kvcache_pool
from minisgl.layers import set_rope_device
from minisgl.models import BaseLLMModel, ModelConfig, create_model, load_model
from minisgl.moe import create_moe_backend
from minisgl.utils.device import (
    Event,
    count_physical_cores,
    cpu_quota,
    create_event,
    create_stream,
    get_free_memory,
    is_cuda,
    num_cpu_threads,
    pick_device,
    set_stream,
)
from minisgl.utils.logger import init_logger
from minisgl.utils.misc import align_ceil, div_even
from minisgl.utils.torch_utils import torch_dtype

from .config import GIB, EngineConfig
from .graph import GraphRunner
from .sample import BatchSamplingArgs, Sampler

logger = init_logger(__name__)


def kv_bytes_per_page(config: ModelConfig, page_size: int, dtype: torch.dtype, tp_size: int = 1) -> int:
    """The bytes that one page takes on one rank: keys and values of page_size tokens in every layer.

    A rank holds num_kv_heads / tp_size heads, or one where there are fewer heads than ranks.
    """
    raise NotImplementedError("TODO 191: Plan the memory: how many pages fit")


def plan_num_pages(
    bytes_per_page: int, free_before: int, free_after: int, memory_ratio: float, max_bytes: int | None = None
) -> int:
    """How many pages the requests get; the pool will have one more, for the dummy request.

    free_before, free_after: free bytes before and after the weights were loaded. Weights and pool together may take
    memory_ratio of free_before; the rest is for activations and for others. So the pool, with its extra page, may take
    memory_ratio * free_before - (free_before - free_after), and at most max_bytes if that is given.
    ValueError if that leaves less than one page for the requests; the message says how many bytes there were.
    """
    raise NotImplementedError("TODO 191: Plan the memory: how many pages fit")


class ForwardOutput(NamedTuple):
    """The tokens of one step, one per request of batch.reqs, in that order."""

    next_tokens_gpu: torch.Tensor  # int32 [batch] on the device, always valid ids: the next step may read them at once
    next_tokens_cpu: torch.Tensor  # int32 [batch] on the host; -1 where a request's logits were not finite
    copy_done_event: Event  # next_tokens_cpu may be read after copy_done_event.synchronize()


class Engine:
    """One rank's share of the model and of the KV pool. A process has one engine at a time; shutdown() makes room.

    After construction: config, device, dtype, stream, ctx, model, num_pages (without the dummy's), kv_cache, page_table
    (int32 [max_running_req + 1, max_seq_len rounded up to 32]), attn_backend, sampler, dummy_req, graph_runner.
    """

    def __init__(self, config: EngineConfig) -> None:
        """Errors of config, checkpoint, device and memory come through, with nothing left behind.

        RuntimeError if the process has an engine already.
        """
        if try_get_tp_info() is not None:
            raise RuntimeError("this process has an engine already: call its shutdown() first")
        self.config = config
        self.device: torch.device | None = None
        self._threads_before = torch.get_num_threads()
        self._closed = False
        self.graph_runner: GraphRunner | None = None
        try:
            self._initialize()
        except BaseException:
            self.shutdown()
            raise

    def _initialize(self) -> None:
        """Bring everything up. The order matters; each step says what it needs from those before.

        1. Rank, device, dtype, threads, random seed, stream: what all the rest asks for. The layers read the rank.
        2. The global context, then the process group: ranks agree on numbers below.
        3. Free memory, then the model's weights, then free memory again: what is gone is what the weights took.
        4. num_pages (see _determine_num_pages), the KV pool with one page more, the page table with one row more.
           ctx.kv_cache and ctx.page_table are these two.
        5. The attention backend, and the MoE backend (None for a model without experts); both also go into ctx.
        6. The sampler; the dummy request in the last row of the table, all of whose positions are the first slot of
           the extra page: whatever padding writes lands there.
        7. Graphs come last: they capture everything above.
        """
        raise NotImplementedError("TODO 193: The order of initialisation")

    @torch.inference_mode()
    def prepare_batch(self, batch: Batch) -> BatchSamplingArgs:
        """Set all that a forward pass needs of a batch, from its requests' lengths and rows.

        The page-table entries of each request from 0 to device_len - 1 must be filled in, and all its tokens known on
        the host (RuntimeError if not). First the graph runner pads the batch. Then, for batch.padded_reqs in order, on
        the engine's device, int32 [T]: input_ids and positions, see Batch.host_input_ids and host_positions; out_loc,
        the page table's entry at (table_idx, position) of each of these tokens. Then the attention backend prepares
        its metadata. Returns the sampler's arguments for the batch.
        """
        raise NotImplementedError("TODO 199: Gate: the engine, driven by hand")

    @torch.inference_mode()
    def forward_batch(self, batch: Batch, args: BatchSamplingArgs) -> ForwardOutput:
        """One step: compute the batch, sample one token per request of batch.reqs, start its copy to the host.

        The batch has all its late fields (see prepare_batch) and is only read; args are the sampler's, for batch.reqs.
        A batch that the graph runner can replay is replayed: logits [batch.size, vocab]. Any other one runs the model
        inside ctx.forward_batch: logits [batch.padded_size, vocab], a row for each of padded_reqs, the requests' first.
        Then each real request's complete_one() counts the new token, though nobody knows it yet.
        If the forward pass or the sampler raises, no request has changed.

        The host does not wait: see ForwardOutput. A row whose logits are not finite gets -1 on the host: the caller
        must end that request. On the device it is token 0, which a step that runs already can read without harm.
        Nor does it come from the host's copy, which has only been started. Mind that on a CPU `.to("cpu")` is no copy:
        it gives the same tensor again, and what changes the one in place changes both.
        """
        raise NotImplementedError("TODO 192: forward_batch: one step, and the host does not wait")

    def shutdown(self) -> None:
        """Give everything back: graphs, process group, memory, the process's globals. Calling it twice is fine."""
        if self._closed:
            return
        self._closed = True
        if self.graph_runner is not None:
            self.graph_runner.destroy_cuda_graphs()
        if self.config.tp_info.size > 1 and dist.is_initialized():
            dist.destroy_process_group()
        reset_global_ctx()
        reset_tp_info()
        set_rope_device(None)
        torch.set_num_threads(self._threads_before)
        # Whoever still holds the engine must not hold its memory.
        for name in ("graph_runner", "model", "kv_cache", "page_table", "attn_backend", "sampler", "ctx"):
            setattr(self, name, None)
        if self.device is not None and is_cuda(self.device):
            set_stream(torch.cuda.default_stream(self.device))
            torch.cuda.empty_cache()

    def _set_cpu_threads(self) -> None:
        # More threads than physical cores slow every operation down; TP ranks on one machine share its cores.
        if self.config.cpu_threads is not None:
            torch.set_num_threads(self.config.cpu_threads)
        elif not is_cuda(self.device) and "OMP_NUM_THREADS" not in os.environ:
            torch.set_num_threads(num_cpu_threads(count_physical_cores(), cpu_quota(), self.config.tp_info.size))

    def _init_communication(self) -> None:
        """Meet the other ranks. tp_cpu_group is for numbers that live on the host; None if there is one rank."""
        config, tp = self.config, self.config.tp_info
        self.tp_cpu_group: dist.ProcessGroup | None = None
        if tp.size == 1:
            return
        timeout = timedelta(seconds=config.distributed_timeout)
        if is_cuda(self.device):
            torch.cuda.set_device(self.device)
        dist.init_process_group(
            backend="nccl" if is_cuda(self.device) else "gloo",
            init_method=config.distributed_addr,
            rank=tp.rank,
            world_size=tp.size,
            timeout=timeout,
        )
        self.tp_cpu_group = dist.group.WORLD
        if is_cuda(self.device):
            self.tp_cpu_group = dist.new_group(backend="gloo", timeout=timeout)

    def _agree(self, value: int) -> int:
        """The smallest value of all ranks: what every one of them can afford."""
        if self.tp_cpu_group is None:
            return value
        smallest = torch.tensor(value, dtype=torch.int64)
        dist.all_reduce(smallest, op=dist.ReduceOp.MIN, group=self.tp_cpu_group)
        return int(smallest)

    def _load_model(self) -> BaseLLMModel:
        config = self.config
        if not config.use_dummy_weight:
            return load_model(config.model_path, config.model_config, self.device, self.dtype)
        set_rope_device(self.device)
        with torch.device("meta"), torch_dtype(self.dtype):
            model = create_model(config.model_config)
        shapes = {name: weight.shape for name, weight in model.state_dict().items()}
        model.load_state_dict(
            {name: torch.randn(shape, dtype=self.dtype, device=self.device) * 0.02 for name, shape in shapes.items()}
        )
        return model

    def _determine_num_pages(self, bytes_per_page: int, free_before: int, free_after: int) -> int:
        if self.config.num_page_override is not None:
            return self.config.num_page_override
        limit = None if is_cuda(self.device) else self.config.cpu_kv_cache_bytes
        return plan_num_pages(bytes_per_page, free_before, free_after, self.config.memory_ratio, limit)
