# /// wrong
# mistake = "mlp-added-to-its-norm"
# ///
class TinyEngine:
    def layer(self, i, x, positions, cache):
        names = {short: f"model.layers.{i}.self_attn.{short}" for short in ("q_proj", "k_proj", "v_proj", "o_proj")}
        dim = self.config.head_dim
        x_in = self.norm(x, f"model.layers.{i}.input_layernorm")
        q, k, v = (self.linear(x_in, names[n]).unflatten(1, (-1, dim)) for n in ("q_proj", "k_proj", "v_proj"))
        if self.config.qk_norm:
            q = self.norm(q, f"model.layers.{i}.self_attn.q_norm")
            k = self.norm(k, f"model.layers.{i}.self_attn.k_norm")
        q, k = (apply_rope(t, positions, self.frequencies) for t in (q, k))
        keys, values = cache.extend(i, k, v)
        x = x + self.linear(attention(q, keys, values).flatten(1, 2), names["o_proj"])
        x = self.norm(x, f"model.layers.{i}.post_attention_layernorm")
        x = x + self.mlp(x, f"model.layers.{i}.mlp")
        return x
