# /// wrong
# says = "You compute the head's size as hidden_size / num_qo_heads; some models (Qwen3) choose another one, so head_dim is an argument."
# ///
class LinearQKVMerged:
    def __init__(self, hidden_size, head_dim, num_qo_heads, num_kv_heads, has_bias=False):
        size = current_tp_info().size
        heads = div_even(num_qo_heads, size) + 2 * div_even(num_kv_heads, size, allow_replicate=True)
        super().__init__(hidden_size, heads * (hidden_size // num_qo_heads), has_bias)
