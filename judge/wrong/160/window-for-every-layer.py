# /// wrong
# says = "Your code gives every layer the window. Where the config has layer_types, only the layers called sliding_attention have one."
# ///
def layer_windows_from_hf(hf: Any) -> tuple[int | None, ...]:
    window = getattr(hf, "sliding_window", None)
    if getattr(hf, "model_type", None) == "llama" or not getattr(hf, "use_sliding_window", True):
        window = None
    layer_types = ["sliding_attention"] * hf.num_hidden_layers
    return tuple(window if kind == "sliding_attention" else None for kind in layer_types)
