# /// wrong
# mistake = "limit-without-dummy"
# ///
def plan_num_pages(bytes_per_page, free_before, free_after, memory_ratio, max_bytes=None):
    weights = free_before - free_after
    room = int(free_before * memory_ratio) - weights
    usable = room - bytes_per_page
    if max_bytes is not None:
        usable = min(max_bytes, usable)
    pages = usable // bytes_per_page
    if pages <= 0:
        raise ValueError(f"{room} bytes are too few for the pool, one page takes {bytes_per_page} (limit {max_bytes})")
    return pages
