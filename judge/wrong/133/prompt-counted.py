# /// wrong
# says = "You count the tokens of the prompt in max_new_tokens; it limits the new ones only."
# ///
def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if len(prompt) == 0:
        raise ValueError("the prompt is empty")
    if max_new_tokens < 1:
        raise ValueError("max_new_tokens must be at least 1")
    text, unseen = list(prompt), list(prompt)
    while len(text) < max_new_tokens:
        token = int(step(unseen).argmax())
        yield token
        text.append(token)
        if token in eos_ids:
            return
        unseen = [token]
