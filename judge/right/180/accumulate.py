from itertools import accumulate


def make_cu_seqlens(lens, device):
    return torch.tensor(list(accumulate(lens, initial=0)), dtype=torch.int32, device=device)
