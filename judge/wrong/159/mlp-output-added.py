# /// wrong
# says = "You add the MLP's output to the residual here, and the next layer's norm adds it once more; hand x and residual on unadded."
# ///
class DecoderLayer(BaseOP):
    def forward(self, x, residual):

        x, residual = self.input_layernorm.forward(x, residual)
        x = self.self_attn.forward(x)
        x, residual = self.post_attention_layernorm.forward(x, residual)
        return self.mlp.forward(x) + residual, residual
