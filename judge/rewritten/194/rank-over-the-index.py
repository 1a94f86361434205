# /// wrong
# mistake = "rank-over-the-index"
# ///
def pick_device(name, rank=0):
    if name == "auto":
        name = f"cuda:{rank}" if torch.cuda.is_available() else "cpu"
    kind, _, number = name.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdigit()):
        raise ValueError(f"{name!r} is no device of this engine; it knows auto, cpu, cuda and cuda:N")
    if kind == "cpu":
        return torch.device("cpu")
    gpus = torch.cuda.device_count()
    if rank >= gpus:
        raise ValueError(f"there is no GPU {rank}, this machine has {gpus}")
    return torch.device(f"cuda:{rank}")
