# /// wrong
# says = "Your pairs turn faster and faster: the exponent of theta should be negative, so that pair 0 turns by 1 radian per position and the last one hardly."
# ///
def rope_frequencies(head_dim, rope):
    frequencies = rope["rope_theta"] ** (torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
    if rope["rope_type"] == "default":
        return frequencies
    if rope["rope_type"] != "llama3":
        raise ValueError(rope["rope_type"])
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    turns = rope["original_max_position_embeddings"] * frequencies / (2 * math.pi)
    keep = ((turns - low) / (high - low)).clamp(0, 1)
    return keep * frequencies + (1 - keep) * frequencies / rope["factor"]
