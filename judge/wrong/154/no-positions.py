# /// wrong
# says = "q and k reach the backend without any rotation, so the model cannot know the order of the tokens."
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
        out = ctx.attn_backend.forward(q, k, v, self._layer_id, ctx.batch, window=self._window)
        return out.flatten(1)
