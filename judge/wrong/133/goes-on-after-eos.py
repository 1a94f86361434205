# /// wrong
# says = "You notice the EOS id one step late: a token that comes after it is computed and yielded."
# ///
def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    if len(prompt) == 0:
        raise ValueError("the prompt is empty")
    if max_new_tokens < 1:
        raise ValueError("max_new_tokens must be at least 1")
    unseen, done = list(prompt), False
    for _ in range(max_new_tokens):
        token = int(step(unseen).argmax())
        yield token
        if done:
            return
        done = token in eos_ids
        unseen = [token]
