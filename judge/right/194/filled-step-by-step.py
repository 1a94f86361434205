def to_device(values, dtype, device):
    cuda = device.type == "cuda"
    host = torch.empty(len(values), dtype=dtype, pin_memory=cuda)
    host.copy_(torch.tensor(values, dtype=dtype))
    if not cuda:
        return host
    there = torch.empty_like(host, device=device)
    return there.copy_(host, non_blocking=True)


def count_physical_cores(topology=Path("/sys/devices/system/cpu")):
    def one_of(cpu):
        """The lowest thread of the CPU's core: what all threads of a core agree on."""
        file = topology / f"cpu{cpu}" / "topology" / "thread_siblings_list"
        if not file.is_file():
            return cpu
        return int(file.read_text().replace("-", ",").split(",")[0])

    if not hasattr(os, "sched_getaffinity"):
        import psutil

        return psutil.cpu_count(logical=False) or 1
    return max(1, len(set(map(one_of, os.sched_getaffinity(0)))))
