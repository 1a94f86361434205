"""The engine: everything that lives on the device, from the weights to the sampler.

Names are imported on first use, so that `import minisgl.engine.sample` does not load the models as well.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "BatchSamplingArgs": "sample",
    "Engine": "engine",
    "EngineConfig": "config",
    "ForwardOutput": "engine",
    "Sampler": "sample",
}
__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
