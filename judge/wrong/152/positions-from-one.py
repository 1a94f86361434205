# /// wrong
# says = "Your first row belongs to position 1; positions start at 0, where nothing is rotated."
# ///
def build_cos_sin_cache(inv_freq, max_position, factor=1.0):

    positions = torch.arange(1, max_position + 1, dtype=torch.float32, device=inv_freq.device)
    angles = torch.outer(positions, inv_freq)
    return torch.cat((angles.cos(), angles.sin()), dim=-1) * factor
