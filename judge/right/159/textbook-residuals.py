class DecoderLayer(BaseOP):
    def forward(self, x, residual):

        """The layer as papers draw it: the stream is added up at once, the norms are used without a residual."""
        stream = x if residual is None else x + residual
        normed, _ = self.input_layernorm.forward(stream)
        stream = stream + self.self_attn.forward(normed)
        normed, _ = self.post_attention_layernorm.forward(stream)
        return self.mlp.forward(normed), stream
