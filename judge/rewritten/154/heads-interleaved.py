# /// wrong
# mistake = "heads-interleaved"
# file = "layers/attention.py"
# ///
class AttentionLayer:
    def split_qkv(self, qkv):
        n, d = qkv.shape[0], self._head_dim
        columns = qkv.view(n, -1, d)
        a = self._num_qo_heads
        b = a + self._num_kv_heads
        return columns[:, :a].clone(), columns[:, a:b].clone(), columns[:, b:].clone()

    def forward(self, qkv):
        context = get_global_ctx()
        q, k, v = self.split_qkv(qkv)
        q = q if self._q_norm is None else self._q_norm.forward(q)
        k = k if self._k_norm is None else self._k_norm.forward(k)
        q, k = self._rotary.forward(context.batch.positions, q, k)
        out = context.attn_backend.forward(q, k, v, self._layer_id, context.batch, window=self._window)
        return torch.stack([out[:, h] for h in range(out.shape[1])], dim=-1).view(len(qkv), -1)
