# /// wrong
# says = "Your code builds a Llama for an architecture that it does not know. The weights may even fit, and the model talks nonsense: refuse the name."
# ///
def create_model(config):
    name = config.architectures[0] if config.architectures else "LlamaForCausalLM"
    return MODELS.get(name, LlamaForCausalLM)(config)
