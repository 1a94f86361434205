# /// wrong
# says = "Your layer never calls self_attn: tokens cannot see each other."
# ///
class DecoderLayer(BaseOP):
    def forward(self, x, residual):

        x, residual = self.input_layernorm.forward(x, residual)
        x, residual = self.post_attention_layernorm.forward(x, residual)
        return self.mlp.forward(x), residual
