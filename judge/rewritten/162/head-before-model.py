# /// wrong
# mistake = "head-before-model"
# ///
class CausalLM:
    def __init__(self, config):
        decoder = DecoderModel(config, has_qk_norm=type(self).has_qk_norm)
        if config.tie_word_embeddings:
            self.lm_head = ParallelLMHead(config.vocab_size, config.hidden_size, decoder.embed_tokens)
        else:
            self.lm_head = ParallelLMHead(config.vocab_size, config.hidden_size)
        self.model = decoder

    def forward(self):
        ids = get_global_ctx().batch.input_ids
        hidden = self.model.forward(ids)
        return self.lm_head.forward(hidden)
