# /// wrong
# says = "q, k and v are views with gaps between their rows; make each contiguous, as kernels and views of them expect."
# file = "layers/attention.py"
# ///
class AttentionLayer:
    def split_qkv(self, qkv):
        q_size, kv_size = self._num_qo_heads * self._head_dim, self._num_kv_heads * self._head_dim
        return tuple(p.unflatten(-1, (-1, self._head_dim)) for p in qkv.split([q_size, kv_size, kv_size], dim=-1))
