# /// wrong
# says = "You give every rank all cores. The ranks on a machine share them."
# ///
def num_cpu_threads(cores: int, quota: float, tp_size: int) -> int:
    return max(1, int(min(cores, quota)))
