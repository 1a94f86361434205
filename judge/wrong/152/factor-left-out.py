# /// wrong
# says = "The table is not multiplied by factor, so YaRN's attention factor is lost."
# ///
def build_cos_sin_cache(inv_freq, max_position, factor=1.0):

    positions = torch.arange(max_position, dtype=torch.float32, device=inv_freq.device)
    angles = torch.outer(positions, inv_freq)
    return torch.cat((angles.cos(), angles.sin()), dim=-1)
