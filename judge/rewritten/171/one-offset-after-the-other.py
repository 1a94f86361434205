# /// wrong
# mistake = "one-offset-after-the-other"
# ///
def page_slots(pages, page_size):
    starts = pages * page_size
    columns = [starts + place for place in range(page_size)]
    if not columns:
        return starts
    return torch.cat(columns).to(torch.int32)
