# /// wrong
# says = "The MLP reads the attention's output as it is; post_attention_layernorm adds it to the residual and norms the sum first."
# ///
class DecoderLayer(BaseOP):
    def forward(self, x, residual):

        x, residual = self.input_layernorm.forward(x, residual)
        x = self.self_attn.forward(x)
        return self.mlp.forward(x), residual
