# /// wrong
# mistake = "qk-norm-after-rope"
# ///
class TinyEngine:
    def layer(self, i, x, positions, cache):
        prefix = f"model.layers.{i}"
        T = x.size(0)
        h = self.norm(x, prefix + ".input_layernorm")

        def project(kind):
            return self.linear(h, f"{prefix}.self_attn.{kind}_proj").unflatten(-1, (-1, self.config.head_dim))

        def prepare(kind):
            turned = apply_rope(project(kind), positions, self.frequencies)
            return self.norm(turned, f"{prefix}.self_attn.{kind}_norm") if self.config.qk_norm else turned

        k, v = cache.extend(i, prepare("k"), project("v"))
        heads = attention(prepare("q"), k, v)
        x = x + self.linear(heads.reshape(T, -1), prefix + ".self_attn.o_proj")
        y = self.norm(x, prefix + ".post_attention_layernorm")
        return x + self.mlp(y, prefix + ".mlp")
