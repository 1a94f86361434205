from fractions import Fraction
from math import floor, prod


def kv_bytes_per_page(config, page_size, dtype, tp_size=1):
    heads = max(1, config.num_kv_heads // tp_size)
    one_token = torch.empty(0, dtype=dtype).element_size() * prod((heads, config.head_dim))
    keys = values = one_token * page_size * config.num_layers
    return keys + values


def plan_num_pages(bytes_per_page, free_before, free_after, memory_ratio, max_bytes=None):
    weights = free_before - free_after
    reserve = free_before - floor(Fraction(memory_ratio) * free_before)
    room = min(free_after - reserve, float("inf") if max_bytes is None else max_bytes)
    pages, _ = divmod(int(room), bytes_per_page)
    if pages < 2:
        raise ValueError(f"{room:,} bytes are too few: weights took {weights:,}, one page needs {bytes_per_page:,}")
    return pages - 1
