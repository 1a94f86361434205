# /// wrong
# says = "Every rank gets the whole weight; with tensor parallelism each has 1/size of the rows of every part."
# ///
class LinearColParallelMerged:
    def __init__(self, in_features, out_features, has_bias=False):
        super().__init__(in_features, sum(out_features), has_bias)


class LinearQKVMerged:
    def __init__(self, hidden_size, head_dim, num_qo_heads, num_kv_heads, has_bias=False):
        super().__init__(hidden_size, (num_qo_heads + 2 * num_kv_heads) * head_dim, has_bias)
