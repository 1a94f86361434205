# /// wrong
# says = "You compute all tokens before the first one is handed over. Yield each token as soon as it is known, so that a caller can stream it."
# ///
def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if len(prompt) == 0:
        raise ValueError("the prompt is empty")
    if max_new_tokens < 1:
        raise ValueError("max_new_tokens must be at least 1")
    tokens, unseen = [], list(prompt)
    while len(tokens) < max_new_tokens and not (tokens and tokens[-1] in eos_ids):
        tokens.append(int(step(unseen).argmax()))
        unseen = tokens[-1:]
    yield from tokens
