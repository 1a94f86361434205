# /// wrong
# mistake = "last-norm-without-residual"
# ///
class DecoderModel:
    def forward(self, input_ids):
        state = (self.embed_tokens.forward(input_ids), None)
        for i in range(len(self.layers.op_list)):
            state = self.layers.op_list[i].forward(*state)
        hidden, _ = self.norm.forward(state[0])
        return hidden
