# /// wrong
# mistake = "one-layer-for-all"
# ///
class DecoderModel:
    def __init__(self, config, has_qk_norm=False):
        self.embed_tokens = VocabParallelEmbedding(num_embeddings=config.vocab_size, embedding_dim=config.hidden_size)
        block = DecoderLayer(config, 0, has_qk_norm=has_qk_norm)
        stack = []
        while len(stack) < config.num_layers:
            stack.append(block)
        self.layers = OPList(stack)
        self.norm = RMSNormFused(size=config.hidden_size, eps=config.rms_norm_eps)
