# /// wrong
# says = "You take the heads as the fastest dimension; the D numbers of a head lie side by side, so the shape is [T, heads, D]."
# file = "layers/attention.py"
# ///
class AttentionLayer:
    def split_qkv(self, qkv):
        q_size, kv_size = self._num_qo_heads * self._head_dim, self._num_kv_heads * self._head_dim
        parts = qkv.split([q_size, kv_size, kv_size], dim=-1)
        return tuple(p.reshape(len(qkv), self._head_dim, -1).transpose(1, 2).contiguous() for p in parts)
