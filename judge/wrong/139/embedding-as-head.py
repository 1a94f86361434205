# /// wrong
# says = "You use the embedding as the head of every model. A model with a head of its own has it under lm_head; for a tied one load_weights has put the embedding there."
# ///
class TinyEngine:
    def forward(self, token_ids, cache):
        if len(token_ids) == 0:
            raise ValueError("forward needs at least one token")
        positions = torch.arange(cache.length, cache.length + len(token_ids))
        x = F.embedding(torch.tensor(token_ids), self.weights["model.embed_tokens.weight"])
        for i in range(self.config.num_layers):
            x = self.layer(i, x, positions, cache)
        return (self.norm(x[-1:], "model.norm") @ self.weights["model.embed_tokens.weight"].T)[0]
