from minisgl.kernel import silu_and_mul

__all__ = ["silu_and_mul"]
