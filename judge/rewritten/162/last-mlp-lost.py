# /// wrong
# mistake = "last-mlp-lost"
# ///
class DecoderModel:
    def forward(self, input_ids):
        out = self.embed_tokens.forward(input_ids)
        stream = None
        for number, layer in enumerate(self.layers.op_list):
            out, stream = layer.forward(out, stream)
            assert stream is not None, number
        return self.norm.forward(stream)[0]
