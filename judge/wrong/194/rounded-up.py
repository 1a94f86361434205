# /// wrong
# says = "You round up, so the ranks together have more threads than cores."
# ///
def num_cpu_threads(cores: int, quota: float, tp_size: int) -> int:
    import math

    return max(1, math.ceil(min(cores, quota) / tp_size))
