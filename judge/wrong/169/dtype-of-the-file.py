# /// wrong
# says = "Your model has the dtype of its file. The caller asked for another one: build it in that dtype, and cast each weight as it comes."
# ///
def load_model(
    model_path: str | Path, config: ModelConfig, device: torch.device | str, dtype: torch.dtype
) -> BaseLLMModel:
    set_rope_device(device)
    with torch.device("meta"), torch_dtype(config.dtype):
        model = create_model(config)
    model.load_state_dict({name: weight for name, weight in load_weight(model_path, device)})
    return model
