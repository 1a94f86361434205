# /// wrong
# mistake = "eos-not-yielded"
# ///
def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if len(prompt) < 1:
        raise ValueError("prompt has no tokens")
    if max_new_tokens < 1:
        raise ValueError("asked for fewer than one new token")
    feed = [t for t in prompt]
    left = max_new_tokens
    while left:
        scores = step(feed).tolist()
        best = scores.index(max(scores))
        if best in eos_ids:
            break
        yield best
        left -= 1
        feed = [best]
