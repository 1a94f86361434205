# /// wrong
# says = "Your tensor stays on the CPU, whatever device was asked for."
# ///
def to_device(values: Sequence[float], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)
