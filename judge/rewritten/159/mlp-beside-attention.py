# /// wrong
# mistake = "mlp-beside-attention"
# ///
class DecoderLayer:
    def forward(self, x, residual):
        normed, stream = self.input_layernorm.forward(x, residual)
        stream = stream.clone()
        side, _ = self.post_attention_layernorm.forward(stream.clone(), None)
        attended = self.self_attn.forward(normed.clone())
        return self.mlp.forward(side), stream + attended
