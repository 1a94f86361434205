# /// wrong
# says = "Your layers have no q_norm and k_norm, although the class says has_qk_norm. Pass it on to the decoder and its layers."
# ///
class CausalLM:
    def __init__(self, config: ModelConfig) -> None:
        self.model = DecoderModel(config)
        tied_embedding = self.model.embed_tokens if config.tie_word_embeddings else None
        self.lm_head = ParallelLMHead(config.vocab_size, config.hidden_size, tied_embedding)
