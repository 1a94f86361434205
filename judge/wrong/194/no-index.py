# /// wrong
# says = "Your cuda device has no number. It then means whatever GPU is current at the time, which need not be the rank's."
# ///
def pick_device(name: str, rank: int = 0) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ValueError(f"unknown device {name!r}; known: auto, cpu, cuda, cuda:N") from error
    if device.type == "cpu":
        return torch.device("cpu")
    if device.type != "cuda":
        raise ValueError(f"unknown device {name!r}; known: auto, cpu, cuda, cuda:N")
    index = rank if device.index is None else device.index
    count = torch.cuda.device_count()
    if index >= count:
        raise ValueError(f"device cuda:{index} does not exist: this machine has {count} usable GPUs")
    return torch.device("cuda") if device.index is None else torch.device("cuda", index)
