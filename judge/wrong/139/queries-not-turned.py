# /// wrong
# says = "Your queries are not turned by RoPE, only the keys. A dot product knows the distance of two tokens only if both are turned."
# ///
class TinyEngine:
    def layer(self, i, x, positions, cache):
        T, D = x.shape[0], self.config.head_dim
        p = f"model.layers.{i}"
        h = self.norm(x, f"{p}.input_layernorm")
        q = self.linear(h, f"{p}.self_attn.q_proj").view(T, self.config.num_heads, D)
        k = self.linear(h, f"{p}.self_attn.k_proj").view(T, self.config.num_kv_heads, D)
        v = self.linear(h, f"{p}.self_attn.v_proj").view(T, self.config.num_kv_heads, D)
        if self.config.qk_norm:
            q = self.norm(q, f"{p}.self_attn.q_norm")
            k = self.norm(k, f"{p}.self_attn.k_norm")
        k = apply_rope(k, positions, self.frequencies)
        k, v = cache.extend(i, k, v)
        y = x + self.linear(attention(q, k, v).flatten(1), f"{p}.self_attn.o_proj")
        return y + self.mlp(self.norm(y, f"{p}.post_attention_layernorm"), f"{p}.mlp")
