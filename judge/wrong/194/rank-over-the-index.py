# /// wrong
# says = "You put the rank in place of the index that the user gave. A name with an index is taken as it is."
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
    index = rank
    count = torch.cuda.device_count()
    if index >= count:
        raise ValueError(f"device cuda:{index} does not exist: this machine has {count} usable GPUs")
    return torch.device("cuda", index)
