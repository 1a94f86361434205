# /// wrong
# mistake = "keys-not-turned"
# ///
class TinyEngine:
    def layer(self, i, x, positions, cache):
        where = "model.layers." + str(i)
        attn = where + ".self_attn"
        count, dim = len(x), self.config.head_dim
        inner = self.norm(x, where + ".input_layernorm")
        parts = {}
        counts = {"q": self.config.num_heads, "k": self.config.num_kv_heads, "v": self.config.num_kv_heads}
        for letter, n in counts.items():
            part = self.linear(inner, f"{attn}.{letter}_proj").view(count, n, dim)
            if self.config.qk_norm and letter != "v":
                part = self.norm(part, f"{attn}.{letter}_norm")
            parts[letter] = part
        keys, values = cache.extend(i, parts["k"], parts["v"])
        queries = apply_rope(parts["q"], positions, self.frequencies)
        after = x + self.linear(attention(queries, keys, values).reshape(count, -1), attn + ".o_proj")
        return after + self.mlp(self.norm(after, where + ".post_attention_layernorm"), where + ".mlp")
