# /// wrong
# kind = "dtype"
# ///
def to_device(values: Sequence[float], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    if is_cuda(device):
        return torch.tensor(values, dtype=dtype, pin_memory=True).to(device, non_blocking=True)
    return torch.tensor(values)
