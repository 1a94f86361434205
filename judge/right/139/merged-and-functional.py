class TinyEngine:
    def layer(self, i, x, positions, cache):
        w = {name.split(".", 3)[3]: t for name, t in self.weights.items() if name.startswith(f"model.layers.{i}.")}
        c, d = self.config, self.config.head_dim
        together = torch.cat([w[f"self_attn.{s}_proj.weight"] for s in "qkv"])
        rows = rms_norm(x, w["input_layernorm.weight"], c.norm_eps) @ together.T
        heads = rows.reshape(len(x), -1, d)
        q, k, v = heads.split([c.num_heads, c.num_kv_heads, c.num_kv_heads], dim=1)
        if c.qk_norm:
            q = rms_norm(q, w["self_attn.q_norm.weight"], c.norm_eps)
            k = rms_norm(k, w["self_attn.k_norm.weight"], c.norm_eps)
        q, k = apply_rope(torch.cat((q, k), dim=1), positions, self.frequencies).split([c.num_heads, c.num_kv_heads], dim=1)
        keys, values = cache.extend(i, k, v)
        mixed = attention(q, keys, values)
        x = torch.addmm(x, mixed.reshape(len(x), -1), w["self_attn.o_proj.weight"].T)
        h = rms_norm(x, w["post_attention_layernorm.weight"], c.norm_eps)
        return x + (F.silu(h @ w["mlp.gate_proj.weight"].T) * (h @ w["mlp.up_proj.weight"].T)) @ w["mlp.down_proj.weight"].T

    def forward(self, token_ids, cache):
        table = self.weights["model.embed_tokens.weight"]
        if not token_ids:
            raise ValueError("no tokens")
        if min(token_ids) < 0 or max(token_ids) >= len(table):
            raise IndexError("a token id is outside the vocabulary")
        start = cache.length
        x, places = table[list(token_ids)], torch.tensor([start + t for t in range(len(token_ids))])
        for layer in range(self.config.num_layers):
            x = TinyEngine.layer(self, layer, x, places, cache)
        return torch.mv(self.weights["lm_head.weight"], rms_norm(x, self.weights["model.norm.weight"], self.config.norm_eps)[-1])
