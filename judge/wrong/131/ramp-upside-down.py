# /// wrong
# says = "The two ends are right, but between them your ramp runs the wrong way: the more turns a pair makes, the more of its own frequency it should keep."
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
    keep = (turns - low) / (high - low)
    middle = (1 - keep) * frequencies + keep * frequencies / factor
    return torch.where(turns >= high, frequencies, torch.where(turns <= low, frequencies / factor, middle))
