# /// wrong
# says = "You compute the angles in the default dtype: in half precision large positions run together. Positions and angles are float32."
# ///
def build_cos_sin_cache(inv_freq, max_position, factor=1.0):

    positions = torch.arange(max_position, dtype=torch.get_default_dtype(), device=inv_freq.device)
    angles = torch.outer(positions, inv_freq.to(positions.dtype)).float()
    return torch.cat((angles.cos(), angles.sin()), dim=-1) * factor
