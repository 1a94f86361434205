# /// wrong
# says = "You compare with one EOS id only. A checkpoint may name several, and each of them ends the answer."
# ///
def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if len(prompt) == 0:
        raise ValueError("the prompt is empty")
    if max_new_tokens < 1:
        raise ValueError("max_new_tokens must be at least 1")
    eos, unseen = min(eos_ids, default=None), list(prompt)
    for _ in range(max_new_tokens):
        token = int(step(unseen).argmax())
        yield token
        if token == eos:
            return
        unseen = [token]
