# /// wrong
# says = "You count hardware threads. Two of them can sit on one core, and for matrix products that is one worker."
# ///
def count_physical_cores(topology: Path = Path("/sys/devices/system/cpu")) -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    import psutil

    return psutil.cpu_count(logical=False) or os.cpu_count() or 1
