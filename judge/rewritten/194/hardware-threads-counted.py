# /// wrong
# mistake = "hardware-threads-counted"
# ///
def count_physical_cores(topology=Path("/sys/devices/system/cpu")):
    if hasattr(os, "sched_getaffinity"):
        allowed = list(os.sched_getaffinity(0))
        return len(allowed) or 1
    import psutil

    return psutil.cpu_count(logical=False) or os.cpu_count() or 1
