# /// wrong
# says = "An empty prompt is run as if it held something. Refuse it with ValueError: there is no token to predict from."
# ///
def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if max_new_tokens < 1:
        raise ValueError("max_new_tokens must be at least 1")
    unseen = list(prompt)
    for _ in range(max_new_tokens):
        token = int(step(unseen).argmax())
        yield token
        if token in eos_ids:
            return
        unseen = [token]
