import functools


class DecoderModel:
    def __init__(self, config, has_qk_norm=False):
        layers = []
        while len(layers) < config.num_layers:
            layers.append(DecoderLayer(config, layer_id=len(layers), has_qk_norm=has_qk_norm))
        self.norm = RMSNormFused(config.hidden_size, config.rms_norm_eps)
        self.layers = OPList(layers)
        self.embed_tokens = VocabParallelEmbedding(config.vocab_size, config.hidden_size)

    def forward(self, input_ids):
        start = (self.embed_tokens.forward(input_ids), None)
        state = functools.reduce(lambda state, layer: layer.forward(*state), self.layers.op_list, start)
        normed, _ = self.norm.forward(*state)
        return normed


class CausalLM:
    def __init__(self, config):
        self.model = DecoderModel(config, has_qk_norm=type(self).has_qk_norm)
        shared = {True: self.model.embed_tokens, False: None}[config.tie_word_embeddings]
        self.lm_head = ParallelLMHead(config.vocab_size, config.hidden_size, tied_embedding=shared)

    def forward(self):
        batch = get_global_ctx().batch
        hidden = self.model.forward(batch.input_ids)
        return self.lm_head.forward(hidden)
