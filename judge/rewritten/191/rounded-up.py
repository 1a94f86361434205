# /// wrong
# mistake = "rounded-up"
# ///
def plan_num_pages(bytes_per_page, free_before, free_after, memory_ratio, max_bytes=None):
    limits = [int(memory_ratio * free_before) + free_after - free_before]
    limits += [] if max_bytes is None else [max_bytes]
    smallest = min(limits)
    whole = (smallest + bytes_per_page - 1) // bytes_per_page
    if whole - 1 < 1:
        raise ValueError(f"only {smallest} bytes for pages of {bytes_per_page}")
    return whole - 1
