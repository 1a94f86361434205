# /// wrong
# mistake = "use-sliding-window-ignored"
# ///
def layer_windows_from_hf(hf):
    size = getattr(hf, "sliding_window", None)
    if size is None or getattr(hf, "model_type", "") == "llama":
        return (None,) * hf.num_hidden_layers
    kinds = getattr(hf, "layer_types", None)
    windows = []
    for layer in range(hf.num_hidden_layers):
        slides = kinds is None or kinds[layer] == "sliding_attention"
        windows.append(size if slides else None)
    return tuple(windows)
