# /// wrong
# status = "error"
# kind = "exception"
# ///
def num_cpu_threads(cores: int, quota: float, tp_size: int) -> int:
    return max(1, min(cores, int(quota)) // tp_size)
