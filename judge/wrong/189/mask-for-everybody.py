# /// wrong
# says = "You make a mask for a new prompt. Its triangle is what the kernel knows by itself: is_causal."
# ///
def plan_request(rows, slots, window):
    num_queries = rows.stop - rows.start
    slots = slots[first_visible_key(num_queries, len(slots), window) :]
    num_keys = len(slots)
    if num_queries == 1:
        return RequestPlan(rows, as_index(slots))
    mask = causal_mask(num_queries, num_keys, slots.device)
    if window is not None:
        mask &= window_mask(num_queries, num_keys, window, slots.device)
    return RequestPlan(rows, as_index(slots), mask)
