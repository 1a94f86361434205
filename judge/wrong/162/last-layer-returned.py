# /// wrong
# says = "Your model returns what the last MLP gave. Its residual and the last norm are missing."
# ///
class DecoderModel:
    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        x, residual = self.embed_tokens.forward(input_ids), None
        for layer in self.layers.op_list:
            x, residual = layer.forward(x, residual)
        return x
