# /// wrong
# mistake = "user-seed-changed"
# ///
def request_seed(params, uid, base_seed):
    start = base_seed if params.seed is None else params.seed
    return mix64(mix64(start) ^ (uid & _MASK64))
