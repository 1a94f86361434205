# /// wrong
# mistake = "offsets-from-one"
# ///
def page_slots(pages, page_size):
    answer = []
    for page in pages.tolist():
        begin = page * page_size
        answer += [begin + place for place in range(1, page_size + 1)]
    return torch.tensor(answer, dtype=torch.int32, device=pages.device)
