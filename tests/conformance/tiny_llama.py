"""A Llama of two layers as a Hugging Face folder, with a vocabulary of bytes: small enough that a trial takes a moment."""
import array
import base64
import json
import pathlib
import random
import struct

WIDTH, LAYERS, HEADS, MLP, VOCABULARY = 128, 2, 4, 128, 576


def shapes():
    """Hugging Face's names; products have multiples of 16384 values, as NF4 wants them."""
    result = {"model.embed_tokens.weight": [VOCABULARY, WIDTH], "model.norm.weight": [WIDTH], "lm_head.weight": [VOCABULARY, WIDTH]}
    for layer in range(LAYERS):
        for name in "qkvo":
            result[f"model.layers.{layer}.self_attn.{name}_proj.weight"] = [WIDTH, WIDTH]
        for name in ("gate", "up"):
            result[f"model.layers.{layer}.mlp.{name}_proj.weight"] = [MLP, WIDTH]
        result[f"model.layers.{layer}.mlp.down_proj.weight"] = [WIDTH, MLP]
        for name in ("input_layernorm", "post_attention_layernorm"):
            result[f"model.layers.{layer}.{name}.weight"] = [WIDTH]
    return result


def write(folder, seed=7):
    """config.json, model.safetensors (fp32, drawn from `seed`) and tokenizer.model in `folder`, which is made."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": WIDTH, "num_hidden_layers": LAYERS,
              "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "head_dim": WIDTH // HEADS, "intermediate_size": MLP,
              "vocab_size": VOCABULARY, "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "rope_theta": 500000.0,
              "hidden_act": "silu", "tie_word_embeddings": False, "torch_dtype": "float32", "bos_token_id": 256, "eos_token_id": [257, 263]}
    (folder / "config.json").write_text(json.dumps(config))
    draw = random.Random(seed)
    header, data = {}, bytearray()
    for name, shape in shapes().items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        if len(shape) == 1:
            values = array.array("f", [1.0]) * count
        else:
            # A few thousand different values are enough.
            pool = [draw.uniform(-0.09, 0.09) for _ in range(4099)]
            values = array.array("f", (pool * (count // len(pool) + 1))[:count])
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * count]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    lines = [f"{base64.b64encode(bytes([byte])).decode()} {byte}" for byte in range(256)]
    (folder / "tokenizer.model").write_text("\n".join(lines) + "\n")
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 256}\n')
    (folder / "generation_config.json").write_text('{"eos_token_id": [257, 263]}\n')
    return folder
