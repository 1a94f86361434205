# /// wrong
# says = "hidden_size / num_qo_heads is not always the size of a head: some models (Qwen3) choose it freely. The config has head_dim."
# ///
def kv_bytes_per_page(config: ModelConfig, page_size: int, dtype: torch.dtype, tp_size: int = 1) -> int:
    local_heads = div_even(config.num_kv_heads, tp_size, allow_replicate=True)
    head_dim = config.hidden_size // config.num_qo_heads
    return 2 * config.num_layers * page_size * local_heads * head_dim * dtype.itemsize
