class LinearColParallelMerged:
    def __init__(self, in_features, out_features, has_bias=False):
        ranks, rows = current_tp_info().size, 0
        for size in out_features:
            if size % ranks != 0:
                raise ValueError(f"{size} rows cannot be divided by {ranks} ranks")
            rows += size // ranks
        _LinearTP.__init__(self, in_features, rows, has_bias)


class LinearQKVMerged:
    def __init__(self, hidden_size, head_dim, num_qo_heads, num_kv_heads, has_bias=False):
        ranks = current_tp_info().size
        shared = max(num_kv_heads, ranks)
        if num_qo_heads % ranks or shared % ranks or shared % num_kv_heads:
            raise ValueError(f"{num_qo_heads} and {num_kv_heads} heads do not fit {ranks} ranks")
        _LinearTP.__init__(self, hidden_size, head_dim * (num_qo_heads + 2 * shared) // ranks, has_bias)
