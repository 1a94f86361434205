# /// wrong
# says = "Some seeds are negative or larger than 64 bits; keep the last 64 bits of what you compute."
# ///
def request_seed(params, uid, base_seed):
    if params.seed is not None:
        return params.seed
    return (base_seed << 64) + uid
