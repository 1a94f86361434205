# /// wrong
# says = "You copy without non_blocking, so the host stands still until the copy is done."
# ///
def to_device(values: Sequence[float], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    if is_cuda(device):
        return torch.tensor(values, dtype=dtype, pin_memory=True).to(device)
    return torch.tensor(values, dtype=dtype)
