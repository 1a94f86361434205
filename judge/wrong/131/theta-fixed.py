# /// wrong
# says = "Your base is always 10000; it should be the rope_theta of the config. Newer models have 100000, 500000 or a million."
# ///
def rope_frequencies(head_dim, rope):
    frequencies = 1.0 / 10000.0 ** (torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
    if rope["rope_type"] == "default":
        return frequencies
    if rope["rope_type"] != "llama3":
        raise ValueError(rope["rope_type"])
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    turns = rope["original_max_position_embeddings"] * frequencies / (2 * math.pi)
    keep = ((turns - low) / (high - low)).clamp(0, 1)
    return keep * frequencies + (1 - keep) * frequencies / rope["factor"]
