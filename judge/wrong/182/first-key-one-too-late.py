# /// wrong
# says = "You leave out a key that the first query still sees: its window contains its own key, so it reaches window - 1 back."
# ///
def first_visible_key(num_queries, num_keys, window):
    if window is None:
        return 0
    return max(0, num_keys - num_queries - window + 2)
