# /// wrong
# says = "The attention reads the stream as it is; input_layernorm comes before it."
# ///
class DecoderLayer(BaseOP):
    def forward(self, x, residual):

        residual = x if residual is None else x + residual
        x = self.self_attn.forward(residual)
        x, residual = self.post_attention_layernorm.forward(x, residual)
        return self.mlp.forward(x), residual
