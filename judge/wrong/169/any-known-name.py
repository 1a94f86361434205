# /// wrong
# says = "Your code takes the first name that it knows. The first name is the model; others are fallbacks for other programs, with other weights."
# ///
def create_model(config):
    for name in config.architectures:
        if name in MODELS:
            return MODELS[name](config)
    raise ValueError(f"unknown architectures {config.architectures}; known: {', '.join(MODELS)}")
