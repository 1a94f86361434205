# /// wrong
# says = "Your exponent is i / D; it should be 2i / D, so that it runs from 0 to nearly 1 over the D/2 pairs."
# ///
def rope_frequencies(head_dim, rope):
    frequencies = 1.0 / rope["rope_theta"] ** (torch.arange(head_dim // 2, dtype=torch.float32) / head_dim)
    if rope["rope_type"] == "default":
        return frequencies
    if rope["rope_type"] != "llama3":
        raise ValueError(rope["rope_type"])
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    turns = rope["original_max_position_embeddings"] * frequencies / (2 * math.pi)
    keep = ((turns - low) / (high - low)).clamp(0, 1)
    return keep * frequencies + (1 - keep) * frequencies / rope["factor"]
