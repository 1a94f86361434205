# /// wrong
# mistake = "mlp-reads-the-old-x"
# ///
class TinyEngine:
    def layer(self, i, x, positions, cache):
        base = f"model.layers.{i}."
        cfg = self.config

        def heads(name, count, source):
            return self.linear(source, f"{base}self_attn.{name}_proj").reshape(-1, count, cfg.head_dim)

        normed = self.norm(x, base + "input_layernorm")
        q = heads("q", cfg.num_heads, normed)
        k, v = heads("k", cfg.num_kv_heads, normed), heads("v", cfg.num_kv_heads, normed)
        if cfg.qk_norm:
            q, k = self.norm(q, base + "self_attn.q_norm"), self.norm(k, base + "self_attn.k_norm")
        all_k, all_v = cache.extend(i, apply_rope(k, positions, self.frequencies), v)
        mixed = attention(apply_rope(q, positions, self.frequencies), all_k, all_v).reshape(len(x), -1)
        from_attention = self.linear(mixed, base + "self_attn.o_proj")
        from_mlp = self.mlp(self.norm(x, base + "post_attention_layernorm"), base + "mlp")
        return x + from_attention + from_mlp
