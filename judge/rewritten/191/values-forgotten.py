# /// wrong
# mistake = "values-forgotten"
# ///
def kv_bytes_per_page(config, page_size, dtype, tp_size=1):
    heads = div_even(config.num_kv_heads, tp_size, allow_replicate=True)
    one_number = torch.empty((), dtype=dtype).element_size()
    per_token = 0
    for _ in range(config.num_layers):
        per_token += heads * config.head_dim * one_number
    return per_token * page_size
