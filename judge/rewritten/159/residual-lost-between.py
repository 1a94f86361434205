# /// wrong
# mistake = "residual-lost-between"
# ///
class DecoderLayer:
    def forward(self, x, residual):
        before = self.input_layernorm.forward(x, residual)[0]
        h = self.self_attn.forward(before)
        after, carried = self.post_attention_layernorm.forward(h)
        h = self.mlp.forward(after)
        return h, carried
