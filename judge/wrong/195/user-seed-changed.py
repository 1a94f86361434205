# /// wrong
# says = "The seed that a user gave is changed, for example by the uid; the same seed must give the same tokens in every request, so it comes back as it is."
# ///
def request_seed(params, uid, base_seed):
    seed = base_seed if params.seed is None else params.seed
    return mix64(mix64(seed) ^ (uid & _MASK64))
