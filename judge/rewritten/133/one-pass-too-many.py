# /// wrong
# mistake = "one-pass-too-many"
# ///
def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if not len(prompt):
        raise ValueError("nothing to continue: empty prompt")
    if max_new_tokens <= 0:
        raise ValueError("max_new_tokens must be positive")
    logits = step(list(prompt))
    produced = 0
    finished = False
    while not finished:
        choice = torch.argmax(logits).item()
        yield choice
        produced += 1
        finished = choice in eos_ids or produced == max_new_tokens
        logits = step([choice])
