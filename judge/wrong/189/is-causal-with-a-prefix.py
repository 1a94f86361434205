# /// wrong
# says = "You set is_causal where keys are cached. The kernel aligns its triangle to the first key, so it is right only if queries and keys are the same tokens."
# ///
def plan_request(rows, slots, window):
    num_queries = rows.stop - rows.start
    slots = slots[first_visible_key(num_queries, len(slots), window) :]
    num_keys = len(slots)
    if num_queries == 1:
        return RequestPlan(rows, as_index(slots))
    if window is None:
        return RequestPlan(rows, as_index(slots), is_causal=True)
    if num_queries == num_keys and (window is None or window >= num_keys):
        return RequestPlan(rows, as_index(slots), is_causal=True)
    mask = causal_mask(num_queries, num_keys, slots.device)
    if window is not None:
        mask &= window_mask(num_queries, num_keys, window, slots.device)
    return RequestPlan(rows, as_index(slots), mask)
