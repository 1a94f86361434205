from .hf import cached_load_hf_config, download_hf_weight, load_tokenizer
from .logger import init_logger
from .misc import align_ceil, align_down, div_ceil, div_even
from .registry import Registry
from .torch_utils import torch_dtype

__all__ = [
    "Registry",
    "align_ceil",
    "align_down",
    "cached_load_hf_config",
    "div_ceil",
    "div_even",
    "download_hf_weight",
    "init_logger",
    "load_tokenizer",
    "torch_dtype",
]
