# /// wrong
# says = "Your head always has a weight of its own. With tie_word_embeddings the file has none for it: it would stay at random values or be missed. Hand the head the embedding."
# ///
class CausalLM:
    def __init__(self, config: ModelConfig) -> None:
        self.model = DecoderModel(config, self.has_qk_norm)
        tied_embedding = None
        self.lm_head = ParallelLMHead(config.vocab_size, config.hidden_size, tied_embedding)
