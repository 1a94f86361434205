# /// wrong
# says = "Your page_slots counts the places of a page from 1. The first token of page p has the slot p * page_size."
# ///
def page_slots(pages, page_size):
    offsets = torch.arange(page_size, dtype=torch.int32, device=pages.device)
    return (pages[:, None] * page_size + offsets + 1).flatten()
