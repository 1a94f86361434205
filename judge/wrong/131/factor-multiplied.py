# /// wrong
# says = "You multiply slow frequencies by the factor; divide them. A longer context needs smaller angles per position."
# ///
def rope_frequencies(head_dim, rope):
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
    frequencies = 1.0 / rope["rope_theta"] ** exponents
    if rope["rope_type"] == "default":
        return frequencies
    if rope["rope_type"] != "llama3":
        raise ValueError(rope["rope_type"])
    low, high, factor = rope["low_freq_factor"], rope["high_freq_factor"], rope["factor"]
    turns = rope["original_max_position_embeddings"] * frequencies / (2 * math.pi)
    keep = ((turns - low) / (high - low)).clamp(0, 1)
    return keep * frequencies + (1 - keep) * frequencies * factor
