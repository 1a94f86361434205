# /// wrong
# says = "You read every key although a window hides the far ones. Start at the first key that a query sees."
# ///
def first_visible_key(num_queries, num_keys, window):
    if window is None:
        return 0
    return 0
