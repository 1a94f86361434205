# /// wrong
# says = "An unknown architecture ends in a bare KeyError. Raise a ValueError that names it and lists those that are known."
# ///
def create_model(config):
    return MODELS[config.architectures[0]](config)
