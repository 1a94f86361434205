# /// wrong
# says = "Your running sum starts with the first length. It starts at 0 and has one entry more than there are requests: request i has the rows from cu[i] up to cu[i + 1]."
# ///

def make_cu_seqlens(lens, device):
    sums, total = [], 0
    for length in lens:
        total += length
        sums.append(total)
    return torch.tensor(sums, dtype=torch.int32, device=device)
