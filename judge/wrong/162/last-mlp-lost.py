# /// wrong
# says = "Your last norm sees only the residual. What the last MLP gave has not been added to it by anyone: give the norm both."
# ///
class DecoderModel:
    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        x, residual = self.embed_tokens.forward(input_ids), None
        for layer in self.layers.op_list:
            x, residual = layer.forward(x, residual)
        return self.norm.forward(residual)[0]
