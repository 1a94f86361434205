# /// wrong
# says = "The base seed has no effect on the seeds of requests without one: they are made of the uid alone."
# ///
def request_seed(params, uid, base_seed):
    return params.seed if params.seed is not None else mix64(uid)
