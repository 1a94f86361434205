# /// wrong
# says = "You accept a GPU that this machine does not have. The error then comes much later, from the depths of PyTorch: check the index against torch.cuda.device_count()."
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
    return torch.device("cuda", index)
