# /// wrong
# mistake = "residual-is-normed"
# ///
class DecoderLayer:
    def forward(self, x, residual):
        for norm, block in ((self.input_layernorm, self.self_attn), (self.post_attention_layernorm, self.mlp)):
            normed, residual = norm.forward(x, residual)
            skip = normed.clone()
            x = block.forward(normed)
        return x, skip
