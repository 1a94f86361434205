# /// wrong
# mistake = "positions-one-too-high"
# ///
class TinyEngine:
    def forward(self, token_ids, cache):
        n = len(token_ids)
        if n == 0:
            raise ValueError("no tokens to run")
        table = self.weights["model.embed_tokens.weight"]
        for token in token_ids:
            if token < 0 or token >= table.shape[0]:
                raise IndexError(f"token id {token} is not in the vocabulary")
        first = cache.length + 1 if cache.length else 0
        places = torch.tensor([first + j for j in range(n)])
        hidden = table[torch.tensor(list(token_ids))]
        for number in range(self.config.num_layers):
            hidden = self.layer(number, hidden, places, cache)
        return self.linear(self.norm(hidden[-1:], "model.norm"), "lm_head").squeeze(0)
