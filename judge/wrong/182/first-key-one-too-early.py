# /// wrong
# says = "You read one key more than the first query can see: the window counts its own key, so it reaches window - 1 back, not window."
# ///
def first_visible_key(num_queries, num_keys, window):
    if window is None:
        return 0
    return max(0, num_keys - num_queries - window)
