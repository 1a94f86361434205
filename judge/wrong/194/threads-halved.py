# /// wrong
# says = "You halve the number of hardware threads. Not every core has two, and the process may be allowed one of each pair."
# ///
def count_physical_cores(topology: Path = Path("/sys/devices/system/cpu")) -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)) // 2)
    import psutil

    return psutil.cpu_count(logical=False) or os.cpu_count() or 1
