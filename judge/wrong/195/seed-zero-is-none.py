# /// wrong
# says = "A seed of 0 is treated as if the user gave none; only None means that."
# ///
def request_seed(params, uid, base_seed):
    return params.seed or mix64(mix64(base_seed) ^ (uid & _MASK64))
