# /// wrong
# says = "Your code takes the last of the architectures. The first one is the model."
# ///
def create_model(config: ModelConfig) -> BaseLLMModel:
    name = config.architectures[-1] if config.architectures else None
    if name not in MODELS:
        raise ValueError(f"unknown architecture {name!r}; known: {', '.join(MODELS)}")
    return MODELS[name](config)
