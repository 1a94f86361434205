# /// wrong
# says = "You append the new tokens to the caller's own list. Make a copy of the prompt: the caller may still need it."
# ///
def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if len(prompt) == 0:
        raise ValueError("the prompt is empty")
    if max_new_tokens < 1:
        raise ValueError("max_new_tokens must be at least 1")
    text = prompt
    unseen = list(prompt)
    for _ in range(max_new_tokens):
        token = int(step(unseen).argmax())
        yield token
        if isinstance(text, list):
            text.append(token)
        if token in eos_ids:
            return
        unseen = [token]
