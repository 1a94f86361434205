# /// wrong
# says = "You count a key and a value head for every query head; with grouped queries there are fewer of them."
# ///
class LinearQKVMerged:
    def __init__(self, hidden_size, head_dim, num_qo_heads, num_kv_heads, has_bias=False):
        super().__init__(hidden_size, 3 * div_even(num_qo_heads, current_tp_info().size) * head_dim, has_bias)
