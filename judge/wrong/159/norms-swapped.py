# /// wrong
# says = "The two norms are swapped: input_layernorm comes before the attention, post_attention_layernorm before the MLP."
# ///
class DecoderLayer(BaseOP):
    def forward(self, x, residual):

        x, residual = self.post_attention_layernorm.forward(x, residual)
        x = self.self_attn.forward(x)
        x, residual = self.input_layernorm.forward(x, residual)
        return self.mlp.forward(x), residual
