# /// wrong
# says = "Your rows hold the sines first; the cosines come first."
# ///
def build_cos_sin_cache(inv_freq, max_position, factor=1.0):

    positions = torch.arange(max_position, dtype=torch.float32, device=inv_freq.device)
    angles = torch.outer(positions, inv_freq)
    return torch.cat((angles.sin(), angles.cos()), dim=-1) * factor
