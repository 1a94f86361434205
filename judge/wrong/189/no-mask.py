# /// wrong
# says = "Your plans have no mask and no is_causal: every query sees every key, also those after it."
# ///
def plan_request(rows, slots, window):
    num_queries = rows.stop - rows.start
    slots = slots[first_visible_key(num_queries, len(slots), window) :]
    num_keys = len(slots)
    return RequestPlan(rows, as_index(slots))
