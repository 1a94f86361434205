# /// wrong
# says = "Your page_slots adds the offset to the page's number. Page p begins at slot p * page_size: the pages before it have page_size slots each."
# ///
def page_slots(pages, page_size):
    offsets = torch.arange(page_size, dtype=torch.int32, device=pages.device)
    return (pages[:, None] + offsets).flatten()
