# /// wrong
# says = "The query and key norms are never used; where a model has them (Qwen3) they come between the split and the rotation."
# file = "layers/attention.py"
# ///
class AttentionLayer:
    def forward(self, qkv):
        ctx = get_global_ctx()
        q, k, v = self.split_qkv(qkv)
        q, k = self._rotary.forward(ctx.batch.positions, q, k)
        out = ctx.attn_backend.forward(q, k, v, self._layer_id, ctx.batch, window=self._window)
        return out.flatten(1)
