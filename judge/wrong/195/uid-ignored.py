# /// wrong
# says = "Every request without a seed gets the same seed, so equal prompts get equal answers; the uid must go into it."
# ///
def request_seed(params, uid, base_seed):
    if params.seed is None:
        return mix64(base_seed)
    return params.seed
