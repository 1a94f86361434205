# /// wrong
# says = "Your model returns the plain sum of the last layer's two outputs. The head reads the normed sum."
# ///
class DecoderModel:
    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        x, residual = self.embed_tokens.forward(input_ids), None
        for layer in self.layers.op_list:
            x, residual = layer.forward(x, residual)
        return x + residual
