# /// wrong
# says = "Your auto never finds a GPU. It stands for a GPU where there is one."
# ///
def pick_device(name: str, rank: int = 0) -> torch.device:
    if name == "auto":
        name = "cpu"
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
    return torch.device("cuda", index)
