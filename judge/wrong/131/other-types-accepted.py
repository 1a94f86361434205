# /// wrong
# says = "An unknown rope type passes as if it were \"default\". Refuse it with ValueError: a wrong guess gives fluent nonsense and no error."
# ///
def rope_frequencies(head_dim, rope):
    frequencies = 1.0 / rope["rope_theta"] ** (torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
    if rope["rope_type"] == "llama3":
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        turns = rope["original_max_position_embeddings"] * frequencies / (2 * math.pi)
        keep = ((turns - low) / (high - low)).clamp(0, 1)
        return keep * frequencies + (1 - keep) * frequencies / rope["factor"]
    return frequencies
