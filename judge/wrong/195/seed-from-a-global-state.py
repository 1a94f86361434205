# /// wrong
# says = "The seed of a request without one depends on what was drawn or asked before; each rank must find the same from base seed and uid alone."
# ///
_given = {}


def request_seed(params, uid, base_seed):
    if params.seed is not None:
        return params.seed
    generator = _given.setdefault(base_seed, random.Random(base_seed))
    return generator.getrandbits(64)


import random
