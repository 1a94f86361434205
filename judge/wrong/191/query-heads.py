# /// wrong
# says = "You count the query heads. Only keys and values are stored, and there are num_kv_heads of these."
# ///
def kv_bytes_per_page(config: ModelConfig, page_size: int, dtype: torch.dtype, tp_size: int = 1) -> int:
    local_heads = div_even(config.num_qo_heads, tp_size, allow_replicate=True)
    return 2 * config.num_layers * page_size * local_heads * config.head_dim * dtype.itemsize
