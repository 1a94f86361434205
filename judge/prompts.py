"""The prompts that models are compared on.

Ragged on purpose: from one token to well over the sliding window of tiny-mistral (8) and past one long page, two of
them equal, text beyond ASCII, code. The greedy continuations of the tiny models are free of near ties on all of them
(`judge/tests/test_models.py` measures it), so tokens can be compared exactly.
"""

PROMPTS: list[str] = [
    "The capital of France is",
    "def fibonacci(n):",
    "A",
    "Once upon a time there was a small engine in a large house. It was slow in the morning and quick in the evening,",
    "The capital of France is",
    "Où est la bibliothèque ? 你好,世界 🚀",
    "1 2 3 4 5 6 7 8 9 10",  # exactly 16 tokens for most tiny tokenizers: one whole page
    "for i in range(10):\n    print(i, add(i, 1))\n",
]

STEPS = 16  # greedy tokens that are generated and compared per prompt
