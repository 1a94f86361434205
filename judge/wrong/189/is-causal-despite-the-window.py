# /// wrong
# says = "A new prompt longer than its window gets is_causal, which knows no window. It needs both masks."
# ///
def plan_request(rows, slots, window):
    num_queries = rows.stop - rows.start
    slots = slots[first_visible_key(num_queries, len(slots), window) :]
    num_keys = len(slots)
    if num_queries == 1:
        return RequestPlan(rows, as_index(slots))
    if num_queries == num_keys:
        return RequestPlan(rows, as_index(slots), is_causal=True)
    mask = causal_mask(num_queries, num_keys, slots.device)
    if window is not None:
        mask &= window_mask(num_queries, num_keys, window, slots.device)
    return RequestPlan(rows, as_index(slots), mask)
