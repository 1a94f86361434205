# /// wrong
# says = "Where the window reaches past the first token your answer is negative, and a negative start of a slice counts from the end."
# ///
def first_visible_key(num_queries, num_keys, window):
    if window is None:
        return 0
    return num_keys - num_queries - window + 1
