# /// right
# file = "layers/attention.py"
# ///
class AttentionLayer:
    def split_qkv(self, qkv):
        heads = qkv.reshape(qkv.shape[0], self._num_qo_heads + 2 * self._num_kv_heads, self._head_dim)
        first, second = self._num_qo_heads, self._num_qo_heads + self._num_kv_heads
        return heads[:, :first].clone(), heads[:, first:second].clone(), heads[:, second:].clone()

    def forward(self, qkv):
        batch = get_global_ctx().batch
        parts = list(self.split_qkv(qkv))
        for i, norm in enumerate((self._q_norm, self._k_norm)):
            parts[i] = parts[i] if norm is None else norm.forward(parts[i])
        parts[:2] = self._rotary.forward(batch.positions, parts[0], parts[1])
        backend = get_global_ctx().attn_backend
        answer = backend.forward(*parts, layer_id=self._layer_id, batch=batch, window=self._window)
        return answer.reshape(answer.shape[0], self._num_qo_heads * self._head_dim)
