# /// wrong
# says = "The backend is not told the window, so a layer with a sliding window sees all earlier keys."
# file = "layers/attention.py"
# ///
class AttentionLayer:
    def forward(self, qkv):
        ctx = get_global_ctx()
        q, k, v = self.split_qkv(qkv)
        if self._q_norm is not None:
            q = self._q_norm.forward(q)
        if self._k_norm is not None:
            k = self._k_norm.forward(k)
        q, k = self._rotary.forward(ctx.batch.positions, q, k)
        out = ctx.attn_backend.forward(q, k, v, self._layer_id, ctx.batch)
        return out.flatten(1)
