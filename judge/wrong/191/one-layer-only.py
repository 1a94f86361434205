# /// wrong
# says = "You count one layer. Each layer has keys and values of its own, so a page takes that much once for every layer."
# ///
def kv_bytes_per_page(config: ModelConfig, page_size: int, dtype: torch.dtype, tp_size: int = 1) -> int:
    local_heads = div_even(config.num_kv_heads, tp_size, allow_replicate=True)
    return 2 * page_size * local_heads * config.head_dim * dtype.itemsize
