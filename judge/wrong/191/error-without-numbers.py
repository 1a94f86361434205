# /// wrong
# says = "Your error says that there is no room, but not how many bytes there were. Whoever reads it wants to know by how much to change which setting."
# ///
def plan_num_pages(
    bytes_per_page: int, free_before: int, free_after: int, memory_ratio: float, max_bytes: int | None = None
) -> int:
    budget = int(memory_ratio * free_before) - (free_before - free_after)
    if max_bytes is not None:
        budget = min(budget, max_bytes)
    num_pages = budget // bytes_per_page - 1
    if num_pages < 1:
        raise ValueError('not enough memory for the KV pool')
    return num_pages
