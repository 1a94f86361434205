# /// wrong
# says = "The merged weight has rows for query and key heads only; the values need as many rows as the keys."
# ///
class LinearQKVMerged:
    def __init__(self, hidden_size, head_dim, num_qo_heads, num_kv_heads, has_bias=False):
        size = current_tp_info().size
        heads = div_even(num_qo_heads, size) + div_even(num_kv_heads, size, allow_replicate=True)
        super().__init__(hidden_size, heads * head_dim, has_bias)
