# /// wrong
# mistake = "any-known-name"
# ///
def create_model(config):
    for candidate in config.architectures:
        factory = MODELS.get(candidate)
        if factory is not None:
            return factory(config)
    raise ValueError(f"none of {config.architectures} is known; this engine has {sorted(MODELS)}")
