# /// wrong
# says = "The table has the default dtype, which is bfloat16 while a bfloat16 model is built; it stays float32 whatever the model's dtype."
# ///
def build_cos_sin_cache(inv_freq, max_position, factor=1.0):

    positions = torch.arange(max_position, dtype=torch.float32, device=inv_freq.device)
    angles = torch.outer(positions, inv_freq)
    return (torch.cat((angles.cos(), angles.sin()), dim=-1) * factor).to(torch.get_default_dtype())
