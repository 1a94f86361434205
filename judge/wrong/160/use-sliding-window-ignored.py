# /// wrong
# says = "A config can name a sliding_window and switch it off with use_sliding_window = False. Your code slides all the same."
# ///
def layer_windows_from_hf(hf: Any) -> tuple[int | None, ...]:
    window = getattr(hf, "sliding_window", None)
    if getattr(hf, "model_type", None) == "llama":
        window = None
    layer_types = getattr(hf, "layer_types", None) or ["sliding_attention"] * hf.num_hidden_layers
    return tuple(window if kind == "sliding_attention" else None for kind in layer_types)
