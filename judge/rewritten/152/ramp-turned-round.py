# /// wrong
# mistake = "ramp-turned-round"
# file = "layers/rotary.py"
# ///
def yarn_inv_freq(inv_freq, dim, base, scaling):
    context = scaling["original_max_position_embeddings"]
    fast, slow = scaling.get("beta_fast") or 32.0, scaling.get("beta_slow") or 1.0
    low, high = (dim * math.log(context / (2 * math.pi * r)) / (2 * math.log(base)) for r in (fast, slow))
    if scaling.get("truncate", True) is not False:
        low, high = float(math.floor(low)), float(math.ceil(high))
    if low < 0:
        low = 0.0
    if high > dim - 1:
        high = float(dim - 1)
    if low == high:
        high = high + 0.001
    answer = torch.empty_like(inv_freq)
    for i in range(dim // 2):
        share = min(1.0, max(0.0, (i - low) / (high - low)))
        answer[i] = share * inv_freq[i] + (1.0 - share) * inv_freq[i] / scaling["factor"]
    return answer
