# /// wrong
# says = "Your Llama gets a sliding window because its config carries the number. Hugging Face's Llama does not look at it."
# ///
def layer_windows_from_hf(hf: Any) -> tuple[int | None, ...]:
    window = getattr(hf, "sliding_window", None)
    if not getattr(hf, "use_sliding_window", True):
        window = None
    layer_types = getattr(hf, "layer_types", None) or ["sliding_attention"] * hf.num_hidden_layers
    return tuple(window if kind == "sliding_attention" else None for kind in layer_types)
