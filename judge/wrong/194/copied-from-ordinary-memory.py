# /// wrong
# says = "The numbers are copied from ordinary memory. Only from pinned memory can the GPU fetch them by itself while the host goes on."
# ///
def to_device(values: Sequence[float], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype).to(device, non_blocking=True)
