# /// wrong
# says = "Your page_slots gives the first slot of all pages, then the second of all, and so on. A request fills one page before it goes to the next."
# ///
def page_slots(pages, page_size):
    offsets = torch.arange(page_size, dtype=torch.int32, device=pages.device)
    return (pages[None, :] * page_size + offsets[:, None]).flatten()
