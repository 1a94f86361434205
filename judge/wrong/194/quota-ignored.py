# /// wrong
# says = "You do not look at the quota. A container with time for two CPUs does not get faster with eight threads: they take turns."
# ///
def num_cpu_threads(cores: int, quota: float, tp_size: int) -> int:
    return max(1, cores // tp_size)
