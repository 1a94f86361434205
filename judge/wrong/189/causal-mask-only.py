# /// wrong
# says = "Where there is a window you still use the causal mask alone. Cutting the slots helps only the first query; the later ones need window_mask too."
# ///
def plan_request(rows, slots, window):
    num_queries = rows.stop - rows.start
    slots = slots[first_visible_key(num_queries, len(slots), window) :]
    num_keys = len(slots)
    if num_queries == 1:
        return RequestPlan(rows, as_index(slots))
    if num_queries == num_keys and (window is None or window >= num_keys):
        return RequestPlan(rows, as_index(slots), is_causal=True)
    return RequestPlan(rows, as_index(slots), causal_mask(num_queries, num_keys, slots.device))
