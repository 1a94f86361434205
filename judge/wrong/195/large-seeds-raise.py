# /// wrong
# status = "error"
# kind = "exception"
# ///
def uniform(seed, step):
    generator = torch.Generator().manual_seed(seed + (step << 40))
    return float(torch.rand(1, generator=generator))
