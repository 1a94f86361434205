# /// wrong
# says = "You drop the newest keys instead of the oldest: the slots are cut at the wrong end."
# ///
def plan_request(rows, slots, window):
    num_queries = rows.stop - rows.start
    skipped = first_visible_key(num_queries, len(slots), window)
    slots = slots[: len(slots) - skipped]
    num_keys = len(slots)
    if num_queries == 1:
        return RequestPlan(rows, as_index(slots))
    if num_queries == num_keys and (window is None or window >= num_keys):
        return RequestPlan(rows, as_index(slots), is_causal=True)
    mask = causal_mask(num_queries, num_keys, slots.device)
    if window is not None:
        mask &= window_mask(num_queries, num_keys, window, slots.device)
    return RequestPlan(rows, as_index(slots), mask)
