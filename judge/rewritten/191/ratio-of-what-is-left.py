# /// wrong
# mistake = "ratio-of-what-is-left"
# ///
def plan_num_pages(bytes_per_page, free_before, free_after, memory_ratio, max_bytes=None):
    available = int(free_after * memory_ratio)
    if max_bytes is not None and max_bytes < available:
        available = max_bytes
    pages, _ = divmod(available, bytes_per_page)
    if pages < 2:
        raise ValueError(f"the KV pool would have {available} bytes, and a page needs {bytes_per_page}")
    return pages - 1
