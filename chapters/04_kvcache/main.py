"""What a KV cache costs, and how a page table lets a request live in scattered pages.

    .venv/bin/python chapters/04_kvcache/main.py [MODEL]
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from minisgl.kvcache import create_kvcache_pool, create_prefix_cache
from minisgl.models import ModelConfig
from minisgl.scheduler import TableManager, page_slots
from minisgl.utils import cached_load_hf_config

MODELS = Path(__file__).resolve().parents[2] / "models"
PAGE_SIZE = 4
NUM_PAGES = 8
CPU = torch.device("cpu")


def show_cost(config: ModelConfig, dtype: torch.dtype) -> None:
    """Bytes per token, and how many tokens fit into some amounts of memory."""
    per_token = 2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype.itemsize
    print(f"one token's KV: 2 x {config.num_layers} layers x {config.num_kv_heads} heads x {config.head_dim} numbers")
    print(f"  x {dtype.itemsize} bytes = {per_token:,} bytes")
    for gib in (1, 4, 40):
        print(f"  {gib:>2} GiB hold {(gib << 30) // per_token:>9,} tokens")


def show_pages(owner: dict[int, str]) -> None:
    """One letter per slot: whose token is in it. A dot: nobody's yet. A dash: a page that nobody has."""
    cells = []
    for page in range(NUM_PAGES):
        slots = range(page * PAGE_SIZE, (page + 1) * PAGE_SIZE)
        cells.append("".join(owner.get(slot, "-") for slot in slots))
    print("  pages   " + " ".join(f"{page:^{PAGE_SIZE}}" for page in range(NUM_PAGES)))
    print("          " + " ".join(cells))


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else str(MODELS / "SmolLM2-135M-Instruct")
    config = ModelConfig.from_hf(cached_load_hf_config(path))
    show_cost(config, config.dtype)

    pool = create_kvcache_pool(config, NUM_PAGES, PAGE_SIZE, torch.float32, CPU)
    table = TableManager(max_running_reqs=2, page_table=torch.zeros((2, 16), dtype=torch.int32))
    print(f"\na pool of {NUM_PAGES} pages of {PAGE_SIZE} tokens; keys of a layer: {tuple(pool.k_cache(0).shape)}")

    # Two requests whose pages are neither in order nor side by side.
    wanted = {"A": (6, [5, 2]), "B": (9, [0, 7, 3])}
    rows, owner, written = {}, {}, {}
    for name, (length, pages) in wanted.items():
        row = rows[name] = table.allocate()
        slots = page_slots(torch.tensor(pages, dtype=torch.int32), PAGE_SIZE)
        table.page_table[row, : len(slots)] = slots
        owner |= {slot: "." for slot in slots.tolist()}
        owner |= {slot: name.lower() for slot in slots[:length].tolist()}
        shape = (length, config.num_kv_heads, config.head_dim)
        written[name] = torch.randn(shape), torch.randn(shape)
        for layer in range(config.num_layers):
            pool.store_kv(*written[name], out_loc=slots[:length], layer_id=layer)
        print(f"  {name}: {length} tokens, row {row}, pages {pages}, slots {slots[:length].tolist()}")
    show_pages(owner)

    print("\nread back through the page table:")
    for name, (length, _) in wanted.items():
        slots = table.page_table[rows[name], :length]
        k, v = pool.load_kv(config.num_layers - 1, slots)
        same = torch.equal(k, written[name][0]) and torch.equal(v, written[name][1])
        print(f"  {name}: keys and values of {length} tokens in the last layer, as written: {same}")

    print("\nrows:")
    print(f"  free {table.available_size} of 2; B ends, its row {rows['B']} goes back")
    table.free(rows["B"])
    try:
        table.free(rows["B"])
    except ValueError as error:
        print(f"  once more? ValueError: {error}")

    cache = create_prefix_cache(CPU, "naive")
    handle = cache.match_prefix(torch.arange(6, dtype=torch.int32))
    result = cache.insert_prefix(torch.arange(6, dtype=torch.int32), table.page_table[rows["A"], :6])
    print(f"\nthe naive prefix cache: match finds {handle.cached_len} tokens, insert knew {result.cached_len} before")
    print(f"  and took {result.handle.cached_len}; it holds {cache.size_info.total_size}")


if __name__ == "__main__":
    main()
