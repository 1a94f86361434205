# /// wrong
# says = "You run layer 0 again and again. Hand self.layer the number of the layer."
# ///
class TinyEngine:
    def forward(self, token_ids, cache):
        if len(token_ids) == 0:
            raise ValueError("forward needs at least one token")
        positions = torch.arange(cache.length, cache.length + len(token_ids))
        x = F.embedding(torch.tensor(token_ids), self.weights["model.embed_tokens.weight"])
        for i in range(self.config.num_layers):
            x = self.layer(0, x, positions, cache)
        return self.linear(self.norm(x[-1:], "model.norm"), "lm_head")[0]
