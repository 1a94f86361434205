def apply_rope_inplace(positions, q, k, cos_sin_cache):
    """A pair is a complex number, a rotation is a product."""
    half = cos_sin_cache.shape[1] // 2
    turn = torch.complex(cos_sin_cache[:, :half], cos_sin_cache[:, half:])[positions.long()][:, None]
    for x in (q, k):
        product = torch.complex(x[..., :half].float(), x[..., half:].float()) * turn
        x[..., :half] = product.real
        x[..., half:] = product.imag
