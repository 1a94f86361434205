# /// wrong
# says = "Your first layer gets the embedding as x and as residual, so it is added to itself. The residual of the first layer is None."
# ///
class DecoderModel:
    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        x, residual = self.embed_tokens.forward(input_ids), None
        residual = x.clone()
        for layer in self.layers.op_list:
            x, residual = layer.forward(x, residual)
        return self.norm.forward(x, residual)[0]
