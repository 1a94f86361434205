# /// wrong
# says = "You count different core ids. They begin anew in each socket, so cores of two sockets can share one: the list of sibling threads is unique."
# ///
def count_physical_cores(topology: Path = Path("/sys/devices/system/cpu")) -> int:
    if hasattr(os, "sched_getaffinity"):
        cores = set()
        for cpu in os.sched_getaffinity(0):
            file = topology / f"cpu{cpu}" / "topology" / "core_id"
            cores.add(file.read_text().strip() if file.exists() else f"x{cpu}")
        return max(1, len(cores))
    import psutil

    return psutil.cpu_count(logical=False) or os.cpu_count() or 1
