# /// wrong
# says = "You stop at an EOS id without yielding it. The caller should see it: it says why the answer ended."
# ///
def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if len(prompt) == 0:
        raise ValueError("the prompt is empty")
    if max_new_tokens < 1:
        raise ValueError("max_new_tokens must be at least 1")
    unseen = list(prompt)
    for _ in range(max_new_tokens):
        token = int(step(unseen).argmax())
        if token in eos_ids:
            return
        yield token
        unseen = [token]
