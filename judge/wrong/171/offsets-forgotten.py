# /// wrong
# says = "Your page_slots repeats the first slot of each page. The tokens of a page have consecutive slots."
# ///
def page_slots(pages, page_size):
    return (pages * page_size).repeat_interleave(page_size)
