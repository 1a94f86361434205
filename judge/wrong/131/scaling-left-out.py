# /// wrong
# says = "For \"llama3\" you return the unscaled frequencies; the pairs that turn slowly should be slowed down further."
# ///
def rope_frequencies(head_dim, rope):
    if rope["rope_type"] not in ("default", "llama3"):
        raise ValueError(rope["rope_type"])
    return 1.0 / rope["rope_theta"] ** (torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
