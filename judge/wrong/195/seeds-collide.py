# /// wrong
# says = "Different requests get the same seed: your combination of base seed and uid loses some of their 64 bits."
# ///
def request_seed(params, uid, base_seed):
    if params.seed is not None:
        return params.seed
    return (base_seed * 1_000_003 + uid) % 2**32
