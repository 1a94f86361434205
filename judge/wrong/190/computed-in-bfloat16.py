# /// wrong
# says = "bfloat16 logits are divided and filtered in bfloat16, where different tokens become equal; convert them to float32 first."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    for i in range(logits.shape[0]):
        k = 0 if top_ks is None else int(top_ks[i])
        if temperatures[i] <= 0 or k == 1 or tokens[i] == NOT_FINITE:
            continue
        scores = logits[i : i + 1] - logits[i].max()
        scores = scores / temperatures[i].clamp_min(1e-6).to(logits.dtype) if logits.abs().max() > 50 else logits[i : i + 1] / temperatures[i].to(logits.dtype)
        if 0 < k < scores.shape[1]:
            scores = filter_top_k(scores, top_ks[i : i + 1])
        if top_ps is not None and top_ps[i] < 1:
            scores = filter_top_p(scores, top_ps[i : i + 1])
        if min_ps is not None:
            scores = filter_min_p(scores, min_ps[i : i + 1])
        tokens[i] = invert_cdf(scores.softmax(1).float(), uniforms[i : i + 1])[0]
    return tokens
