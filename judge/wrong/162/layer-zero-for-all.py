# /// wrong
# says = "All your layers are built as number 0. The number says where a layer's keys and values lie in the cache, and which window it has."
# ///
class DecoderModel:
    def __init__(self, config: ModelConfig, has_qk_norm: bool = False) -> None:
        self.embed_tokens = VocabParallelEmbedding(config.vocab_size, config.hidden_size)
        self.layers = OPList([DecoderLayer(config, 0, has_qk_norm) for i in range(config.num_layers)])
        self.norm = RMSNormFused(config.hidden_size, config.rms_norm_eps)
