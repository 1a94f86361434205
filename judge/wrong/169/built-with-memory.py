# /// wrong
# says = "Your model is built with memory for all its weights, and then the loaded ones take their place. Build it on the meta device, where a tensor has a shape and no memory."
# ///
def load_model(
    model_path: str | Path, config: ModelConfig, device: torch.device | str, dtype: torch.dtype
) -> BaseLLMModel:
    set_rope_device(device)
    with torch_dtype(dtype):
        model = create_model(config)
    model.load_state_dict({name: weight.to(dtype) for name, weight in load_weight(model_path, device)})
    return model
