from .base import BaseLLMModel
from .config import ModelConfig, RotaryConfig
from .decoder import CausalLM, DecoderLayer, DecoderModel
from .register import create_model, load_model
from .weight import load_weight

__all__ = [
    "BaseLLMModel",
    "CausalLM",
    "DecoderLayer",
    "DecoderModel",
    "ModelConfig",
    "RotaryConfig",
    "create_model",
    "load_model",
    "load_weight",
]
