# /// wrong
# says = "You run the next step before you hand a token over. The caller should get it at once, and may not want another one."
# ///
def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if len(prompt) == 0:
        raise ValueError("the prompt is empty")
    if max_new_tokens < 1:
        raise ValueError("max_new_tokens must be at least 1")
    token, count = int(step(list(prompt)).argmax()), 1
    while token not in eos_ids and count < max_new_tokens:
        following = int(step([token]).argmax())
        yield token
        token, count = following, count + 1
    yield token
