# /// wrong
# says = "A single query gets all keys: you ignore the window in decode steps, where nothing else cuts the far keys off."
# ///
def first_visible_key(num_queries, num_keys, window):
    if window is None:
        return 0
    return 0 if num_queries == 1 else max(0, num_keys - num_queries - window + 1)
