def _digest(*numbers):
    """A keyed hash of 64-bit integers, as bytes."""
    data = b"".join((n % 2**64).to_bytes(8, "little") for n in numbers)
    return hashlib.blake2b(data, digest_size=8).digest()


def request_seed(params, uid, base_seed):
    if params.seed is None:
        # A hash of 64 bits could collide; a bijection of the uid for each base seed cannot.
        key = int.from_bytes(_digest(base_seed), "big")
        return ((uid ^ key) * (2 * key + 1)) % 2**64
    return params.seed


def uniform(seed, step):
    return int.from_bytes(_digest(seed, step)[:3], "big") / (1 << 24)


import hashlib
