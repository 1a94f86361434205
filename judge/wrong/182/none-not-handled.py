# /// wrong
# status = "error"
# kind = "exception"
# ///
def first_visible_key(num_queries, num_keys, window):
    return max(0, num_keys - num_queries - (window - 1))
