# /// wrong
# says = "A negative id takes a row from the end of the embedding and nobody notices. Refuse every id outside [0, V) with IndexError."
# ///
class TinyEngine:
    def forward(self, token_ids, cache):
        if len(token_ids) == 0:
            raise ValueError("forward needs at least one token")
        positions = torch.arange(cache.length, cache.length + len(token_ids))
        x = self.weights["model.embed_tokens.weight"][torch.tensor(token_ids)]
        for i in range(self.config.num_layers):
            x = self.layer(i, x, positions, cache)
        return self.linear(self.norm(x[-1:], "model.norm"), "lm_head")[0]
