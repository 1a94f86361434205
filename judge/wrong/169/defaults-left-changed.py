# /// wrong
# says = "Your code changes torch's default dtype and leaves it like that: every tensor that anyone makes afterwards has it. Use the `with` block, which restores it even after an error."
# ///
def load_model(
    model_path: str | Path, config: ModelConfig, device: torch.device | str, dtype: torch.dtype
) -> BaseLLMModel:
    set_rope_device(device)
    torch.set_default_dtype(dtype)
    with torch.device("meta"):
        model = create_model(config)
    model.load_state_dict({name: weight.to(dtype) for name, weight in load_weight(model_path, device)})
    return model
