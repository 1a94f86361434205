# /// wrong
# mistake = "everything-fed-again"
# ///
def _checked(prompt, limit):
    if len(prompt) == 0 or limit < 1:
        raise ValueError(f"need a prompt and room for a token, got {len(prompt)} tokens and a limit of {limit}")
    return tuple(prompt)


def greedy_loop(step, prompt, max_new_tokens, eos_ids):
    text = _checked(prompt, max_new_tokens)
    answer = []
    for _ in range(max_new_tokens):
        token = step([*text, *answer]).argmax().item()
        answer.append(token)
        yield token
        if token in eos_ids:
            break
