# /// wrong
# says = "You feed the whole text again at each step. The cache behind step knows the old tokens: after the prompt, hand it the new token only."
# ///
def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if len(prompt) == 0:
        raise ValueError("the prompt is empty")
    if max_new_tokens < 1:
        raise ValueError("max_new_tokens must be at least 1")
    text = list(prompt)
    for _ in range(max_new_tokens):
        text = [*text, int(step(text).argmax())]
        yield text[-1]
        if text[-1] in eos_ids:
            return
