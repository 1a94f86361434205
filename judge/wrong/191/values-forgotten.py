# /// wrong
# says = "Your page holds keys only. A page keeps the keys and the values of its tokens: that is twice as much."
# ///
def kv_bytes_per_page(config: ModelConfig, page_size: int, dtype: torch.dtype, tp_size: int = 1) -> int:
    local_heads = div_even(config.num_kv_heads, tp_size, allow_replicate=True)
    return config.num_layers * page_size * local_heads * config.head_dim * dtype.itemsize
