# /// wrong
# says = "Your page_slots sorts the pages. Their order is the order in which the request fills them: page 7 before page 2 means that its first tokens are in page 7."
# ///
def page_slots(pages, page_size):
    offsets = torch.arange(page_size, dtype=torch.int32, device=pages.device)
    return (pages.sort().values[:, None] * page_size + offsets).flatten()
