# /// wrong
# says = "Your positions start at 0 in every call. They start at cache.length: prefill and the first token are right, and everything behind a cache is not."
# ///
class TinyEngine:
    def forward(self, token_ids, cache):
        if len(token_ids) == 0:
            raise ValueError("forward needs at least one token")
        positions = torch.arange(len(token_ids))
        x = F.embedding(torch.tensor(token_ids), self.weights["model.embed_tokens.weight"])
        for i in range(self.config.num_layers):
            x = self.layer(i, x, positions, cache)
        return self.linear(self.norm(x[-1:], "model.norm"), "lm_head")[0]
