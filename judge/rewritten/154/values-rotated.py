# /// wrong
# mistake = "values-rotated"
# file = "layers/attention.py"
# ///
class AttentionLayer:
    def forward(self, qkv):
        ctx = get_global_ctx()
        here = ctx.batch.positions
        q, k, v = self.split_qkv(qkv)
        for norm, heads in ((self._q_norm, q), (self._k_norm, k)):
            if norm is not None:
                heads.copy_(norm.forward(heads))
        stacked = torch.cat([k, v], dim=1)
        self._rotary.forward(here, q, stacked)
        k, v = (part.contiguous() for part in stacked.chunk(2, dim=1))
        out = ctx.attn_backend.forward(q, k, v, self._layer_id, ctx.batch, window=self._window)
        return out.flatten(start_dim=1)
