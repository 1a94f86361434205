# /// wrong
# says = "You count the KV heads of the whole model. With tensor parallelism a rank stores only its share of them."
# ///
def kv_bytes_per_page(config: ModelConfig, page_size: int, dtype: torch.dtype, tp_size: int = 1) -> int:
    return 2 * config.num_layers * page_size * config.num_kv_heads * config.head_dim * dtype.itemsize
