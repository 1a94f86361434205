# /// wrong
# says = "Your number depends on how many were drawn before it: a generator keeps a state. It must be a function of seed and step alone."
# ///
_generators = {}


def uniform(seed, step):
    if seed not in _generators:
        _generators[seed] = torch.Generator().manual_seed(mix64(seed) >> 1)
    return torch.rand((), generator=_generators[seed]).item()
