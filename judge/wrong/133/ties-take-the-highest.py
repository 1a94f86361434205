# /// wrong
# says = "Where logits are equal you take the highest id; the lowest one should win."
# ///
def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if len(prompt) == 0:
        raise ValueError("the prompt is empty")
    if max_new_tokens < 1:
        raise ValueError("max_new_tokens must be at least 1")
    unseen = list(prompt)
    for _ in range(max_new_tokens):
        logits = step(unseen)
        token = int((logits == logits.max()).nonzero()[-1])
        yield token
        if token in eos_ids:
            return
        unseen = [token]
