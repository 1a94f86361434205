# /// wrong
# says = "You take two bytes for every number. The bytes of a number are those of the dtype that is given."
# ///
def kv_bytes_per_page(config: ModelConfig, page_size: int, dtype: torch.dtype, tp_size: int = 1) -> int:
    local_heads = div_even(config.num_kv_heads, tp_size, allow_replicate=True)
    return 2 * config.num_layers * page_size * local_heads * config.head_dim * 2
