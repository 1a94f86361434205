# /// wrong
# says = "Your last norm sees only what the last MLP gave. The sum of everything before it, the residual, belongs to it: give the norm both."
# ///
class DecoderModel:
    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        x, residual = self.embed_tokens.forward(input_ids), None
        for layer in self.layers.op_list:
            x, residual = layer.forward(x, residual)
        return self.norm.forward(x)[0]
