# /// wrong
# says = "More ranks than key heads are refused; then each rank should get one key head, which several ranks share."
# ///
class LinearQKVMerged:
    def __init__(self, hidden_size, head_dim, num_qo_heads, num_kv_heads, has_bias=False):
        size = current_tp_info().size
        super().__init__(hidden_size, (div_even(num_qo_heads, size) + 2 * div_even(num_kv_heads, size)) * head_dim, has_bias)
