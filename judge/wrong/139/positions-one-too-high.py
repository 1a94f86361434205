# /// wrong
# says = "Your positions behind a cache are one too high: the first new token stands at position cache.length, because positions count from 0."
# ///
class TinyEngine:
    def forward(self, token_ids, cache):
        if len(token_ids) == 0:
            raise ValueError("forward needs at least one token")
        positions = torch.arange(cache.length + 1, cache.length + 1 + len(token_ids))
        x = F.embedding(torch.tensor(token_ids), self.weights["model.embed_tokens.weight"])
        for i in range(self.config.num_layers):
            x = self.layer(i, x, positions, cache)
        return self.linear(self.norm(x[-1:], "model.norm"), "lm_head")[0]
