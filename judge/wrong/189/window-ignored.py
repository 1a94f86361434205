# /// wrong
# says = "Your plan ignores the window: far keys are read and seen."
# ///
def plan_request(rows, slots, window):
    num_queries = rows.stop - rows.start
    window = None
    slots = slots[first_visible_key(num_queries, len(slots), window) :]
    num_keys = len(slots)
    if num_queries == 1:
        return RequestPlan(rows, as_index(slots))
    if num_queries == num_keys and (window is None or window >= num_keys):
        return RequestPlan(rows, as_index(slots), is_causal=True)
    mask = causal_mask(num_queries, num_keys, slots.device)
    if window is not None:
        mask &= window_mask(num_queries, num_keys, window, slots.device)
    return RequestPlan(rows, as_index(slots), mask)
