# /// wrong
# mistake = "two-pi-left-out"
# ///
def rope_frequencies(head_dim, rope):
    steps = torch.arange(head_dim // 2, dtype=torch.float32)
    base = torch.pow(torch.tensor(float(rope["rope_theta"])), -2 * steps / head_dim)
    match rope["rope_type"]:
        case "default":
            return base
        case "llama3":
            context = rope["original_max_position_embeddings"]
            lo, hi = rope["low_freq_factor"], rope["high_freq_factor"]
            slow = base / rope["factor"]
            # how often the pair goes round within the context
            rounds = context * base
            mixed = slow + (base - slow) * (rounds - lo) / (hi - lo)
            return torch.where(rounds >= hi, base, torch.where(rounds <= lo, slow, mixed))
        case other:
            raise ValueError(f"{other} rope is not supported")
