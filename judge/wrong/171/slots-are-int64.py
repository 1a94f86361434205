# /// wrong
# says = "Your page_slots gives int64. The page table is int32, and so are all slots: an arange without a dtype is int64, and the sum becomes int64 too."
# ///
def page_slots(pages, page_size):
    return (pages[:, None] * page_size + torch.arange(page_size)).flatten()
