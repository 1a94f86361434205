# /// wrong
# says = "You use 32 and 1 turns always; beta_fast and beta_slow of the scaling take their place where they are given."
# ///
def yarn_inv_freq(inv_freq, dim, base, scaling):
    factor, original_len = scaling["factor"], scaling["original_max_position_embeddings"]

    def index_of(turns):
        return dim * math.log(original_len / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = index_of(32), index_of(1)
    if scaling.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    if low == high:
        high += 0.001
    ramp = ((torch.arange(dim // 2, dtype=torch.float32) - low) / (high - low)).clamp(0, 1)
    return inv_freq / factor * ramp + inv_freq * (1 - ramp)
