# /// wrong
# says = "Your head is set before the model. Weights are loaded in the order of the attributes, and a tied head looks at the embedding's: model comes first."
# ///
class CausalLM:
    def __init__(self, config):
        model = DecoderModel(config, self.has_qk_norm)
        tied_embedding = model.embed_tokens if config.tie_word_embeddings else None
        self.lm_head = ParallelLMHead(config.vocab_size, config.hidden_size, tied_embedding)
        self.model = model
