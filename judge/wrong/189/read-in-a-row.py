# /// wrong
# says = "Your plan reads everything between the first and the last slot. The pages of a request are anywhere and in any order: read the slots that the row names."
# ///
def plan_request(rows, slots, window):
    num_queries = rows.stop - rows.start
    slots = slots[first_visible_key(num_queries, len(slots), window) :]
    num_keys = len(slots)
    slots = slice(int(slots[0]), int(slots[-1]) + 1)
    if num_queries == 1:
        return RequestPlan(rows, slots)
    if num_queries == num_keys and (window is None or window >= num_keys):
        return RequestPlan(rows, slots, is_causal=True)
    mask = causal_mask(num_queries, num_keys, torch.device("cpu"))
    if window is not None:
        mask &= window_mask(num_queries, num_keys, window, torch.device("cpu"))
    return RequestPlan(rows, slots, mask)
