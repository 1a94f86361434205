# /// wrong
# says = "You read the columns group by group (the queries of one key head, that key head, its value head); here all queries come first, then all keys, then all values."
# file = "layers/attention.py"
# ///
class AttentionLayer:
    def split_qkv(self, qkv):
        group = self._num_qo_heads // self._num_kv_heads
        x = qkv.view(len(qkv), self._num_kv_heads, group + 2, self._head_dim)
        q = x[:, :, :group].reshape(len(qkv), self._num_qo_heads, self._head_dim)
        return q.contiguous(), x[:, :, group].contiguous(), x[:, :, group + 1].contiguous()
