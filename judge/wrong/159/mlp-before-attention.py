# /// wrong
# says = "The MLP comes before the attention in your layer; it is the other way round."
# ///
class DecoderLayer(BaseOP):
    def forward(self, x, residual):

        x, residual = self.input_layernorm.forward(x, residual)
        x = self.mlp.forward(x)
        x, residual = self.post_attention_layernorm.forward(x, residual)
        return self.self_attn.forward(x), residual
