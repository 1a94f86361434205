# /// wrong
# says = "The second part of qkv is taken for the values; the order is queries, keys, values."
# file = "layers/attention.py"
# ///
class AttentionLayer:
    def split_qkv(self, qkv):
        q_size, kv_size = self._num_qo_heads * self._head_dim, self._num_kv_heads * self._head_dim
        q, v, k = (p.reshape(len(qkv), -1, self._head_dim).contiguous() for p in qkv.split([q_size, kv_size, kv_size], -1))
        return q, k, v
