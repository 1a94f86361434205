# /// wrong
# mistake = "embedding-counted-twice"
# ///
class DecoderModel:
    def forward(self, input_ids):
        hidden = self.embed_tokens.forward(input_ids)
        carried = hidden.clone()
        for block in self.layers.op_list:
            hidden, carried = block.forward(hidden, carried)
        normed, _ = self.norm.forward(hidden, carried)
        return normed
