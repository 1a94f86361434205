# /// wrong
# mistake = "quota-not-shared"
# ///
def num_cpu_threads(cores, quota, tp_size):
    mine = cores // tp_size
    if quota < mine:
        mine = int(quota)
    return mine if mine > 0 else 1
