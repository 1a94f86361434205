# /// wrong
# mistake = "mlp-output-added"
# ///
class DecoderLayer:
    def forward(self, x, residual):
        normed, stream = self.input_layernorm.forward(x, residual)
        attended = self.self_attn.forward(normed)
        normed, stream = self.post_attention_layernorm.forward(attended, stream)
        out = self.mlp.forward(normed)
        return out, torch.add(stream, out)
