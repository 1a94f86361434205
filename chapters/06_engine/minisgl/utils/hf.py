"""What we take from a Hugging Face checkpoint besides its weights.

transformers takes seconds to import, so each function imports it when it is called.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable
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


def union_eos_ids(*sources: int | Iterable[int] | None) -> frozenset[int]:
    """All end-of-sequence ids that any source names. A source is one id, several ids, or None for none at all."""
    ids: set[int] = set()
    for source in sources:
        if source is None:
            continue
        ids.update([source] if isinstance(source, int) else source)
    return frozenset(ids)


def load_eos_token_ids(model_path: str | Path) -> frozenset[int]:
    """The ids that end a sequence: those of generation_config.json (which may be missing), config and tokenizer.

    They often differ: a chat model's tokenizer names the end of a turn, its config the end of a document.
    """
    from transformers import GenerationConfig

    try:
        generation_ids = GenerationConfig.from_pretrained(str(model_path)).eos_token_id
    except OSError:
        generation_ids = None
    config_ids = getattr(cached_load_hf_config(model_path), "eos_token_id", None)
    return union_eos_ids(generation_ids, config_ids, load_tokenizer(model_path).eos_token_id)
