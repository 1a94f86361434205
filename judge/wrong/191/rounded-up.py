# /// wrong
# says = "You round up to whole pages. The last page is then larger than the memory that is left for it."
# ///
def plan_num_pages(
    bytes_per_page: int, free_before: int, free_after: int, memory_ratio: float, max_bytes: int | None = None
) -> int:
    budget = int(memory_ratio * free_before) - (free_before - free_after)
    if max_bytes is not None:
        budget = min(budget, max_bytes)
    num_pages = -(-budget // bytes_per_page) - 1
    if num_pages < 1:
        raise ValueError(f"no memory for the KV pool: {budget} bytes are left of {free_before}")
    return num_pages
