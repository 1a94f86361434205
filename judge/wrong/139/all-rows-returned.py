# /// wrong
# says = "You return the logits of all rows, [T, V]; only those after the last token are asked for, [V]."
# kind = "shape"
# ///
class TinyEngine:
    def forward(self, token_ids, cache):
        if len(token_ids) == 0:
            raise ValueError("forward needs at least one token")
        positions = torch.arange(cache.length, cache.length + len(token_ids))
        x = F.embedding(torch.tensor(token_ids), self.weights["model.embed_tokens.weight"])
        for i in range(self.config.num_layers):
            x = self.layer(i, x, positions, cache)
        return self.linear(self.norm(x, "model.norm"), "lm_head")
