# /// wrong
# says = "Where nothing fits, you return a number of pages that is useless: zero, one that was not there, or less than nothing. Say so with a ValueError: the user must learn it at start, not at the first request."
# ///
def plan_num_pages(
    bytes_per_page: int, free_before: int, free_after: int, memory_ratio: float, max_bytes: int | None = None
) -> int:
    budget = int(memory_ratio * free_before) - (free_before - free_after)
    if max_bytes is not None:
        budget = min(budget, max_bytes)
    return max(0, budget // bytes_per_page - 1)
