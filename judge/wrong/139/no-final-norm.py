# /// wrong
# says = "The norm model.norm between the last layer and lm_head is missing."
# ///
class TinyEngine:
    def forward(self, token_ids, cache):
        if len(token_ids) == 0:
            raise ValueError("forward needs at least one token")
        positions = torch.arange(cache.length, cache.length + len(token_ids))
        x = F.embedding(torch.tensor(token_ids), self.weights["model.embed_tokens.weight"])
        for i in range(self.config.num_layers):
            x = self.layer(i, x, positions, cache)
        return self.linear(x[-1:], "lm_head")[0]
