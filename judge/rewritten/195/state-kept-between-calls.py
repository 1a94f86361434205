# /// wrong
# mistake = "state-kept-between-calls"
# ///
import random

_generators = {}


def uniform(seed, step):
    generator = _generators.setdefault(seed, random.Random(seed))
    return generator.getrandbits(24) / float(1 << 24)
