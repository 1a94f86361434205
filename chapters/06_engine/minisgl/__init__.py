"""minisgl: a small engine that serves large language models."""
