# /// wrong
# mistake = "both-halves-activated"
# ///
def silu_and_mul(x):
    activated = x / (1 + torch.exp(-x.float())).to(x.dtype)
    half = x.shape[-1] // 2
    return activated[..., :half] * activated[..., half:]
