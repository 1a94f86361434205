# /// wrong
# says = "Your code holds all weights in the file's dtype and then casts them, so at the end both sets are there. Cast each one as it comes, and let the original go."
# ///
def load_model(
    model_path: str | Path, config: ModelConfig, device: torch.device | str, dtype: torch.dtype
) -> BaseLLMModel:
    set_rope_device(device)
    with torch.device("meta"), torch_dtype(dtype):
        model = create_model(config)
    weights = dict(load_weight(model_path, device))
    model.load_state_dict({name: weight.to(dtype) for name, weight in weights.items()})
    return model
