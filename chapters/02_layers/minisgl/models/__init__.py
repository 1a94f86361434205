from .base import BaseLLMModel
from .config import ModelConfig, RotaryConfig
from .decoder import DecoderLayer

__all__ = ["BaseLLMModel", "DecoderLayer", "ModelConfig", "RotaryConfig"]
