# /// wrong
# says = "You start at the oldest key of the last query. Of several queries the first one looks back furthest."
# ///
def first_visible_key(num_queries, num_keys, window):
    if window is None:
        return 0
    return max(0, num_keys - window)
