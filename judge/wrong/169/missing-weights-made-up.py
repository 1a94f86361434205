# /// wrong
# says = "Your code fills weights that the file lacks with random numbers. Such a model writes fluent nonsense and gives no error: let load_state_dict refuse it."
# ///
def load_model(
    model_path: str | Path, config: ModelConfig, device: torch.device | str, dtype: torch.dtype
) -> BaseLLMModel:
    set_rope_device(device)
    with torch.device("meta"), torch_dtype(dtype):
        model = create_model(config)
    state = {name: weight.to(dtype) for name, weight in load_weight(model_path, device)}
    for name, like in model.state_dict().items():
        if name not in state:
            state[name] = torch.randn(like.shape, dtype=dtype, device=device)
    model.load_state_dict(state)
    return model
