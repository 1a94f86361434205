# /// wrong
# says = "The head norms run after the rotation; they belong before it, because their weights scale the two numbers of a pair differently."
# file = "layers/attention.py"
# ///
class AttentionLayer:
    def forward(self, qkv):
        ctx = get_global_ctx()
        q, k, v = self.split_qkv(qkv)
        q, k = self._rotary.forward(ctx.batch.positions, q, k)
        if self._q_norm is not None:
            q = self._q_norm.forward(q)
        if self._k_norm is not None:
            k = self._k_norm.forward(k)
        out = ctx.attn_backend.forward(q, k, v, self._layer_id, ctx.batch, window=self._window)
        return out.flatten(1)
