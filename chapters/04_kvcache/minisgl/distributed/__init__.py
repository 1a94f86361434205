from .impl import DistributedCommunicator, TorchDistributedImpl
from .info import DistributedInfo, current_tp_info, get_tp_info, reset_tp_info, set_tp_info, try_get_tp_info

__all__ = [
    "DistributedCommunicator",
    "DistributedInfo",
    "TorchDistributedImpl",
    "current_tp_info",
    "get_tp_info",
    "reset_tp_info",
    "set_tp_info",
    "try_get_tp_info",
]
