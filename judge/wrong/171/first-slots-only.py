# /// wrong
# says = "Your page_slots gives one slot for each page. A page has page_size of them, and each token needs its own."
# ///
def page_slots(pages, page_size):
    return pages * page_size
