# /// wrong
# says = "This is the size of one token. A page holds page_size of them."
# ///
def kv_bytes_per_page(config: ModelConfig, page_size: int, dtype: torch.dtype, tp_size: int = 1) -> int:
    local_heads = div_even(config.num_kv_heads, tp_size, allow_replicate=True)
    return 2 * config.num_layers * local_heads * config.head_dim * dtype.itemsize
