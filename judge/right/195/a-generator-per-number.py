def request_seed(params, uid, base_seed):
    seed = params.seed
    if seed is None:
        seed = mix64((uid + mix64(base_seed + 1)) % (1 << 64))
    return seed


def uniform(seed, step):
    """A fresh generator for each number: slower, but without a state that lives on."""
    generator = torch.Generator()
    generator.manual_seed(mix64(mix64(seed % 2**64) ^ (step + 1)) >> 1)
    return torch.rand(1, generator=generator, dtype=torch.float32).item()
