# /// wrong
# says = "You take the dummy's page off before you look at max_bytes. The limit is for the pool with its extra page."
# ///
def plan_num_pages(
    bytes_per_page: int, free_before: int, free_after: int, memory_ratio: float, max_bytes: int | None = None
) -> int:
    num_pages = (int(memory_ratio * free_before) - (free_before - free_after)) // bytes_per_page - 1
    if max_bytes is not None:
        num_pages = min(num_pages, max_bytes // bytes_per_page)
    budget = num_pages * bytes_per_page
    if num_pages < 1:
        raise ValueError(f"no memory for the KV pool: {budget} bytes are left of {free_before}")
    return num_pages
