# /// wrong
# says = "You return the normed x as the residual; the residual is the plain sum, which post_attention_layernorm gives as its second result."
# ///
class DecoderLayer(BaseOP):
    def forward(self, x, residual):

        x, residual = self.input_layernorm.forward(x, residual)
        x = self.self_attn.forward(x)
        x, _ = self.post_attention_layernorm.forward(x, residual)
        return self.mlp.forward(x), x
