# /// wrong
# status = "error"
# kind = "exception"
# ///
def load_model(
    model_path: str | Path, config: ModelConfig, device: torch.device | str, dtype: torch.dtype
) -> BaseLLMModel:
    with torch.device("meta"), torch_dtype(dtype):
        model = create_model(config)
    model.load_state_dict({name: weight.to(dtype) for name, weight in load_weight(model_path, device)})
    return model
