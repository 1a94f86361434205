# /// wrong
# says = "With an empty prefix your names begin with a dot (.weight): the dot stands only between two parts of a path."
# ///
def _join(prefix, name):
    return f"{prefix}.{name}"
