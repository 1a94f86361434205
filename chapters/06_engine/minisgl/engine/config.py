from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import torch

from minisgl.distributed import DistributedInfo
from minisgl.models.config import ModelConfig
from minisgl.utils.hf import cached_load_hf_config

GIB = 1 << 30


@dataclass(frozen=True)
class EngineConfig:
    """What an engine is to be. ValueError, naming the field, for values that no engine can have.

    model_path: a folder with a checkpoint, or the name of one on the Hugging Face hub.
    tp_info: which rank of how many this process is.
    dtype: of weights, activations and KV; None takes the checkpoint's.
    device: "auto" (a GPU if there is one), "cpu", "cuda", "cuda:N".
    max_running_req: how many requests may run at the same time.
    page_size: tokens per page of the KV pool.
    attention_backend, moe_backend: a name from the registries, or "auto".
    cuda_graph_bs, cuda_graph_max_bs: the batch sizes to capture, or the largest one; 0 turns graphs off.
    memory_ratio: the share of the free memory that weights and KV pool may take together.
    cpu_kv_cache_bytes: at most so many bytes of KV on a CPU, whose memory belongs to others too.
    num_page_override: so many pages, whatever the memory says.
    max_seq_len_override: the longest sequence, prompt and output together; at most what the model allows.
    cpu_threads: threads for PyTorch on a CPU; None takes the physical cores (unless OMP_NUM_THREADS is set).
    use_dummy_weight: random weights; only the config is read. For measuring.
    seed: for everything random that a request does not bring a seed for. The same on every rank.
    distributed_timeout: seconds that ranks wait for each other. distributed_port: where they meet on this machine.
    """

    model_path: str
    tp_info: DistributedInfo = field(default_factory=lambda: DistributedInfo(0, 1))
    dtype: torch.dtype | None = None
    device: str = "auto"
    max_running_req: int = 256
    page_size: int = 1
    attention_backend: str = "auto"
    moe_backend: str = "auto"
    cuda_graph_bs: list[int] | None = None
    cuda_graph_max_bs: int | None = None
    memory_ratio: float = 0.9
    cpu_kv_cache_bytes: int = 2 * GIB
    num_page_override: int | None = None
    max_seq_len_override: int | None = None
    cpu_threads: int | None = None
    use_dummy_weight: bool = False
    seed: int = 42
    distributed_timeout: float = 60.0
    distributed_port: int = 2333

    def __post_init__(self) -> None:
        for name in ("max_running_req", "page_size", "num_page_override", "max_seq_len_override", "cpu_threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        if not 0.0 < self.memory_ratio <= 1.0:
            raise ValueError(f"memory_ratio must be above 0 and at most 1, got {self.memory_ratio}")

    @cached_property
    def model_config(self) -> ModelConfig:
        """The checkpoint's config.json in our terms; read once."""
        return ModelConfig.from_hf(cached_load_hf_config(self.model_path))

    @property
    def model_dtype(self) -> torch.dtype:
        """dtype, or else the checkpoint's."""
        return self.dtype or self.model_config.dtype

    @property
    def max_seq_len(self) -> int:
        """The longest sequence in tokens. ValueError if the override is more than the model has positions for."""
        positions = self.model_config.rotary_config.max_position
        if self.max_seq_len_override is None:
            return positions
        if self.max_seq_len_override > positions:
            raise ValueError(f"max_seq_len_override is {self.max_seq_len_override}, the model ends at {positions}")
        return self.max_seq_len_override

    @property
    def distributed_addr(self) -> str:
        return f"tcp://127.0.0.1:{self.distributed_port}"
