# /// wrong
# says = "The norm goes over all heads of a token together; it works on each head by itself."
# file = "layers/attention.py"
# ///
class AttentionLayer:
    def forward(self, qkv):
        ctx = get_global_ctx()
        q, k, v = self.split_qkv(qkv)
        if self._q_norm is not None:
            q = over_all_heads(q, self._q_norm)
        if self._k_norm is not None:
            k = over_all_heads(k, self._k_norm)
        q, k = self._rotary.forward(ctx.batch.positions, q, k)
        out = ctx.attn_backend.forward(q, k, v, self._layer_id, ctx.batch, window=self._window)
        return out.flatten(1)


def over_all_heads(x, norm):
    return x * torch.rsqrt(x.pow(2).mean((1, 2), keepdim=True) + norm._eps) * norm.weight
