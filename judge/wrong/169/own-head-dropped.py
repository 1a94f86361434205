# /// wrong
# says = "Your code drops the file's lm_head because the config says tied. Some files hold another head all the same, and then it counts, as in Hugging Face. The head's load_state_dict compares the two and decides."
# ///
def load_model(
    model_path: str | Path, config: ModelConfig, device: torch.device | str, dtype: torch.dtype
) -> BaseLLMModel:
    set_rope_device(device)
    with torch.device("meta"), torch_dtype(dtype):
        model = create_model(config)
    state = {name: weight.to(dtype) for name, weight in load_weight(model_path, device)}
    if config.tie_word_embeddings:
        state.pop("lm_head.weight", None)
    model.load_state_dict(state)
    return model
