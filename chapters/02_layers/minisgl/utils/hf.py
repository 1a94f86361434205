"""What we take from a Hugging Face checkpoint besides its weights.

transformers takes seconds to import, so each function imports it when it is called.
"""

from __future__ import annotations

import copy
import functools
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase


def load_tokenizer(model_path: str | Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a local folder or a hub name."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(model_path))


@functools.cache
def _load_hf_config(model_path: str) -> PretrainedConfig:
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(model_path)


def cached_load_hf_config(model_path: str | Path) -> PretrainedConfig:
    """The config of a local folder or a hub name: read once, copied for each caller, who may change it."""
    return copy.deepcopy(_load_hf_config(str(model_path)))


def download_hf_weight(model_path: str | Path) -> Path:
    """The folder with the safetensors files: model_path itself if it is a folder, else a download of the hub name."""
    if Path(model_path).is_dir():
        return Path(model_path)

    from huggingface_hub import snapshot_download

    return Path(snapshot_download(str(model_path), allow_patterns=["*.safetensors", "*.json"]))
