# /// wrong
# mistake = "copied-from-ordinary-memory"
# ///
def to_device(values: Sequence[float], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype, device=device)
