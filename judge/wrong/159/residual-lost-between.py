# /// wrong
# says = "post_attention_layernorm gets no residual in your layer, so the stream from before the attention is lost."
# ///
class DecoderLayer(BaseOP):
    def forward(self, x, residual):

        x, residual = self.input_layernorm.forward(x, residual)
        x = self.self_attn.forward(x)
        x, residual = self.post_attention_layernorm.forward(x)
        return self.mlp.forward(x), residual
