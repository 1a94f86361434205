import math
import re
from contextlib import contextmanager


def pick_device(name, rank=0):
    found = re.fullmatch(r"(auto|cpu|cuda)(?::(\d+))?", name)
    if found is None or (found[1] == "auto" and found[2]):
        raise ValueError(f"{name!r} is not one of auto, cpu, cuda, cuda:N")
    kind = found[1]
    if kind == "auto":
        kind = "cuda" if torch.cuda.device_count() > 0 else "cpu"
    if kind == "cpu":
        return torch.device("cpu")
    number = int(found[2]) if found[2] else rank
    if number not in range(torch.cuda.device_count()):
        raise ValueError(f"no GPU for {name!r}: cuda:{number} is not there")
    return torch.device(f"cuda:{number}")


@contextmanager
def stream_ctx(stream):
    if isinstance(stream, NullStream):
        yield stream
        return
    with torch.cuda.stream(stream):
        yield stream


def to_device(values, dtype, device):
    host = torch.empty(len(values), dtype=dtype)
    for i, value in enumerate(values):
        host[i] = value
    if device.type == "cpu":
        return host
    return host.pin_memory().to(device=device, non_blocking=True)


def count_physical_cores(topology=Path("/sys/devices/system/cpu")):
    try:
        mine = sorted(os.sched_getaffinity(0))
    except AttributeError:
        import psutil

        return max(1, psutil.cpu_count(logical=False) or psutil.cpu_count() or 1)
    seen = {}
    for cpu in mine:
        try:
            siblings = (topology / f"cpu{cpu}/topology/thread_siblings_list").read_text().split("\n")[0]
        except OSError:
            siblings = f"cpu {cpu} alone"
        seen.setdefault(siblings, []).append(cpu)
    return len(seen) or 1


def num_cpu_threads(cores, quota, tp_size):
    whole = cores if math.isinf(quota) else min(cores, math.floor(quota))
    return whole // tp_size or 1
