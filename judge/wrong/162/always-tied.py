# /// wrong
# says = "Your head uses the embedding whatever the config says. An untied model has an lm_head of its own, and a file without one is broken."
# ///
class CausalLM:
    def __init__(self, config: ModelConfig) -> None:
        self.model = DecoderModel(config, self.has_qk_norm)
        tied_embedding = self.model.embed_tokens
        self.lm_head = ParallelLMHead(config.vocab_size, config.hidden_size, tied_embedding)
