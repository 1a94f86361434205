# /// wrong
# says = "With more ranks than cores, or a quota under one CPU, your answer is 0. There is always one thread."
# ///
def num_cpu_threads(cores: int, quota: float, tp_size: int) -> int:
    return int(min(cores, quota)) // tp_size
