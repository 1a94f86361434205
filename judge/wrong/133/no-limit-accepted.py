# /// wrong
# says = "max_new_tokens below 1 gives an empty answer and no error. Refuse it with ValueError, so that the caller learns of it."
# ///
def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if len(prompt) == 0:
        raise ValueError("the prompt is empty")
    unseen = list(prompt)
    for _ in range(max_new_tokens):
        token = int(step(unseen).argmax())
        yield token
        if token in eos_ids:
            return
        unseen = [token]
