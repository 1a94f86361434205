# /// wrong
# says = "The keys go through the query norm and the queries through the key norm."
# file = "layers/attention.py"
# ///
class AttentionLayer:
    def forward(self, qkv):
        ctx = get_global_ctx()
        q, k, v = self.split_qkv(qkv)
        if self._q_norm is not None:
            k = self._q_norm.forward(k)
        if self._k_norm is not None:
            q = self._k_norm.forward(q)
        q, k = self._rotary.forward(ctx.batch.positions, q, k)
        out = ctx.attn_backend.forward(q, k, v, self._layer_id, ctx.batch, window=self._window)
        return out.flatten(1)
