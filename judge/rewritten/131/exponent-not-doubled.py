# /// wrong
# mistake = "exponent-not-doubled"
# ///
def rope_frequencies(head_dim, rope):
    theta = float(rope["rope_theta"])
    index = torch.arange(head_dim // 2).to(torch.float32)
    plain = torch.exp(-index / head_dim * math.log(theta))
    if rope["rope_type"] == "default":
        return plain
    if rope["rope_type"] != "llama3":
        raise ValueError("rope type " + str(rope["rope_type"]) + " is not known here")
    result = []
    for f in plain.tolist():
        turns = rope["original_max_position_embeddings"] * f / (2 * math.pi)
        if turns >= rope["high_freq_factor"]:
            result.append(f)
        elif turns <= rope["low_freq_factor"]:
            result.append(f / rope["factor"])
        else:
            keep = (turns - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])
            result.append(keep * f + (1 - keep) * f / rope["factor"])
    return torch.tensor(result, dtype=torch.float32)
