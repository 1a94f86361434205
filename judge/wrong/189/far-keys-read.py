# /// wrong
# says = "Your plan reads keys that no query sees. Cut the slots at first_visible_key before anything else."
# ///
def plan_request(rows, slots, window):
    num_queries = rows.stop - rows.start
    num_keys = len(slots)
    if window is None or window >= num_keys:
        if num_queries == 1:
            return RequestPlan(rows, as_index(slots))
        if num_queries == num_keys:
            return RequestPlan(rows, as_index(slots), is_causal=True)
    if num_queries == 1:
        return RequestPlan(rows, as_index(slots))
    mask = causal_mask(num_queries, num_keys, slots.device)
    if window is not None:
        mask &= window_mask(num_queries, num_keys, window, slots.device)
    return RequestPlan(rows, as_index(slots), mask)
