# /// wrong
# says = "You share the cores between the ranks, but give each the whole quota. The quota is for all ranks together."
# ///
def num_cpu_threads(cores: int, quota: float, tp_size: int) -> int:
    return max(1, int(min(cores // tp_size, quota)))
