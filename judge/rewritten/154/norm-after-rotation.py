# /// wrong
# mistake = "norm-after-rotation"
# file = "layers/attention.py"
# ///
class AttentionLayer:
    def forward(self, qkv):
        context = get_global_ctx()
        batch = context.batch
        queries, keys, values = self.split_qkv(qkv)
        queries, keys = self._rotary.forward(batch.positions, queries, keys)
        if self._q_norm:
            queries = self._q_norm.forward(queries)
        if self._k_norm:
            keys = self._k_norm.forward(keys)
        heads = context.attn_backend.forward(queries, keys, values, self._layer_id, batch, window=self._window)
        return heads.reshape(heads.shape[0], -1)
