# /// wrong
# says = "With fewer KV heads than ranks your page has no head, or a piece of one. Each rank then holds one whole head."
# ///
def kv_bytes_per_page(config: ModelConfig, page_size: int, dtype: torch.dtype, tp_size: int = 1) -> int:
    local_heads = config.num_kv_heads // tp_size
    return 2 * config.num_layers * page_size * local_heads * config.head_dim * dtype.itemsize
