# /// wrong
# says = "Your list holds the same layer many times: [layer] * n makes n references to one object, and the weights that are loaded last win. Build a layer for each number."
# ///
class DecoderModel:
    def __init__(self, config: ModelConfig, has_qk_norm: bool = False) -> None:
        self.embed_tokens = VocabParallelEmbedding(config.vocab_size, config.hidden_size)
        self.layers = OPList([DecoderLayer(config, 0, has_qk_norm)] * config.num_layers)
        self.norm = RMSNormFused(config.hidden_size, config.rms_norm_eps)
