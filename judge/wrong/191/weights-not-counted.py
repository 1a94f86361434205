# /// wrong
# says = "Your pool takes the whole share, as if the weights were not there. Weights and pool together may take memory_ratio of what was free before."
# ///
def plan_num_pages(
    bytes_per_page: int, free_before: int, free_after: int, memory_ratio: float, max_bytes: int | None = None
) -> int:
    budget = int(memory_ratio * free_before)
    if max_bytes is not None:
        budget = min(budget, max_bytes)
    num_pages = budget // bytes_per_page - 1
    if num_pages < 1:
        raise ValueError(f"no memory for the KV pool: {budget} bytes are left of {free_before}")
    return num_pages
