# /// wrong
# mistake = "rounded-up"
# ///
def num_cpu_threads(cores, quota, tp_size):
    usable = quota if quota < cores else cores
    usable = int(usable)
    threads = usable // tp_size
    if usable % tp_size:
        threads += 1
    return max(threads, 1)
