# /// wrong
# says = "You count the cores of the whole machine. The process may run only on the CPUs in its affinity mask: containers and taskset make use of that."
# ///
def count_physical_cores(topology: Path = Path("/sys/devices/system/cpu")) -> int:
    if hasattr(os, "sched_getaffinity"):
        texts = {f.read_text().strip() for f in topology.glob("cpu[0-9]*/topology/thread_siblings_list")}
        return max(1, len(texts) or len(os.sched_getaffinity(0)))
    import psutil

    return psutil.cpu_count(logical=False) or os.cpu_count() or 1
