# /// wrong
# says = "Your code drops the weights that no layer asks for. They are a sign that this is another model: let load_state_dict refuse them."
# ///
def load_model(
    model_path: str | Path, config: ModelConfig, device: torch.device | str, dtype: torch.dtype
) -> BaseLLMModel:
    set_rope_device(device)
    with torch.device("meta"), torch_dtype(dtype):
        model = create_model(config)
    names = model.state_dict()
    state = {name: weight.to(dtype) for name, weight in load_weight(model_path, device) if name in names or name == "lm_head.weight"}
    model.load_state_dict(state)
    return model
