# /// wrong
# says = "Your MLP reads the stream from before the attention; it should read the sum of that and the attention's output."
# ///
class DecoderLayer(BaseOP):
    def forward(self, x, residual):

        stream = x if residual is None else x + residual
        normed, _ = self.input_layernorm.forward(stream)
        attn = self.self_attn.forward(normed)
        normed, _ = self.post_attention_layernorm.forward(stream)
        return self.mlp.forward(normed), stream + attn
