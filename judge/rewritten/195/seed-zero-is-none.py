# /// wrong
# mistake = "seed-zero-is-none"
# ///
def request_seed(params, uid, base_seed):
    own = mix64((mix64(base_seed) + uid) & _MASK64)
    return params.seed or own
