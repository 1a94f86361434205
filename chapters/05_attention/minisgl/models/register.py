"""From a checkpoint's architecture to a model with weights."""

from __future__ import annotations

from pathlib import Path

import torch

from minisgl.layers import set_rope_device
from minisgl.utils.torch_utils import torch_dtype

from .base import BaseLLMModel
from .config import ModelConfig
from .decoder import (
    CausalLM,
    LlamaForCausalLM,
    MistralForCausalLM,
    Qwen2ForCausalLM,
    Qwen3ForCausalLM,
    Qwen3MoeForCausalLM,
)
from .weight import load_weight

MODELS: dict[str, type[CausalLM]] = {
    "LlamaForCausalLM": LlamaForCausalLM,
    "MistralForCausalLM": MistralForCausalLM,
    "Qwen2ForCausalLM": Qwen2ForCausalLM,
    "Qwen3ForCausalLM": Qwen3ForCausalLM,
    "Qwen3MoeForCausalLM": Qwen3MoeForCausalLM,
}


def create_model(config: ModelConfig) -> BaseLLMModel:
    """A model of the class that MODELS has for the first of config.architectures; its weights hold no values yet.

    ValueError for an architecture that is not in MODELS, naming it and those that are; also if the config names none.
    """
    name = config.architectures[0] if config.architectures else None
    if name not in MODELS:
        raise ValueError(f"unknown architecture {name!r}; known: {', '.join(MODELS)}")
    return MODELS[name](config)


def load_model(
    model_path: str | Path, config: ModelConfig, device: torch.device | str, dtype: torch.dtype
) -> BaseLLMModel:
    """The model of a local folder or hub name with its weights, in dtype on device.

    It is built on the meta device, where a tensor has a shape but no memory, with the rotary tables on device
    (set_rope_device). Then the weights of load_weight are cast to dtype one by one as they come, and handed to
    load_state_dict: at most one tensor at a time exists in two dtypes.
    Errors: those of create_model, load_weight and BaseOP.load_state_dict.
    """
    set_rope_device(device)
    with torch.device("meta"), torch_dtype(dtype):
        model = create_model(config)
    model.load_state_dict({name: weight.to(dtype) for name, weight in load_weight(model_path, device)})
    return model
