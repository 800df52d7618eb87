#!/usr/bin/env python3
"""Turns Llama 3's weights as Meta hands them out (consolidated.00.pth, params.json, tokenizer.model) into a folder that `model = folder("…")` of std.llm reads:
config.json, model.safetensors and the tokenizer. A .pth is a pickle, which is a program; of this one nothing is run: whatever it names beyond tensors, their
types and dictionaries is refused. Models that come in several shards (70B and up) are refused, too. Needs Python alone and holds one tensor at a time.

usage: experiments/reference/meta_weights.py DOWNLOAD FOLDER
"""
import collections
import json
import pathlib
import pickle
import re
import shutil
import struct
import sys
import zipfile

TYPES = {"BFloat16Storage": ("BF16", 2), "HalfStorage": ("F16", 2), "FloatStorage": ("F32", 4)}
NAMES = {"tok_embeddings": "model.embed_tokens", "norm": "model.norm", "output": "lm_head", "attention_norm": "input_layernorm",
         "ffn_norm": "post_attention_layernorm", "attention.wq": "self_attn.q_proj", "attention.wk": "self_attn.k_proj", "attention.wv": "self_attn.v_proj",
         "attention.wo": "self_attn.o_proj", "feed_forward.w1": "mlp.gate_proj", "feed_forward.w2": "mlp.down_proj", "feed_forward.w3": "mlp.up_proj"}
Tensor = collections.namedtuple("Tensor", "key type size shape")


def rebuilt(storage, offset, shape, stride, *_):
    """Stands in for torch._utils._rebuild_tensor_v2; a tensor that is no whole storage, row by row, is none of Meta's."""
    key, (kind, size), count = storage
    rows = 1
    for extent, step in zip(reversed(shape), reversed(stride)):
        if extent > 1 and step != rows:
            raise ValueError("a tensor does not lie row by row")
        rows *= extent
    if offset or rows != count:
        raise ValueError("a tensor is a part of another one")
    return Tensor(key, kind, size, tuple(shape))


class Names(pickle.Unpickler):
    """Reads tensors' names and shapes out of a pickle."""

    def find_class(self, module, name):
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return rebuilt
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if module == "torch" and name in TYPES:
            return TYPES[name]
        raise ValueError(f"it names {module}.{name}, which no file of weights needs; nothing of it was run")

    def persistent_load(self, saved):
        if not isinstance(saved, tuple) or len(saved) != 5 or saved[0] != "storage" or saved[1] not in TYPES.values():
            raise ValueError("it names something that is no tensor")
        return saved[2], saved[1], saved[4]


def renamed(name):
    layer = re.fullmatch(r"layers\.(\d+)\.(.+)", name)
    inner = (layer[2] if layer else name).removesuffix(".weight")
    if not name.endswith(".weight") or inner not in NAMES:
        raise ValueError(f"there is a tensor {name}, which Llama 3 has not")
    return f"model.layers.{layer[1]}.{NAMES[inner]}.weight" if layer else f"{NAMES[inner]}.weight"


def rotated(data, rows, width):
    """Rows of q or k in Hugging Face's order: of each head the even ones, then the odd ones, since it rotates element i and i + half."""
    size = len(data) // rows
    order = [head + 2 * i + odd for head in range(0, rows, width) for odd in (0, 1) for i in range(width // 2)]
    return b"".join(data[row * size:(row + 1) * size] for row in order)


def convert(download, folder):
    parameters = json.loads((download / "params.json").read_text(encoding="utf-8"))
    parts = sorted(download.glob("consolidated.*.pth"))
    if len(parts) != 1:
        raise ValueError(f"{len(parts)} files consolidated.NN.pth; models of one are taken")
    with zipfile.ZipFile(parts[0]) as archive:
        inside = next((name for name in archive.namelist() if name.endswith("/data.pkl")), None)
        if inside is None:
            raise ValueError("there is no data.pkl in it: it was not written by torch 1.6 or newer")
        with archive.open(inside) as file:
            tensors = {renamed(name): tensor for name, tensor in Names(file).load().items() if name != "rope.freqs"}
        header, at = {}, 0
        for name, tensor in tensors.items():
            length = tensor.size
            for extent in tensor.shape:
                length *= extent
            header[name] = {"dtype": tensor.type, "shape": list(tensor.shape), "data_offsets": [at, at + length]}
            at += length
        width = parameters["dim"] // parameters["n_heads"]
        text = json.dumps(header).encode()
        folder.mkdir(parents=True)
        with open(folder / "model.safetensors", "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text)
            for name, tensor in tensors.items():
                begin, end = header[name]["data_offsets"]
                data = archive.read(f"{inside[:-len('data.pkl')]}data/{tensor.key}")
                if len(data) != end - begin:
                    raise ValueError(f"{name} has {len(data)} bytes, expected {end - begin}")
                out.write(rotated(data, tensor.shape[0], width) if re.search(r"\.[qk]_proj\.", name) else data)
    mlp, words = (tensors[name].shape[0] for name in ("model.layers.0.mlp.gate_proj.weight", "model.embed_tokens.weight"))
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": parameters["dim"], "num_hidden_layers": parameters["n_layers"],
        "num_attention_heads": parameters["n_heads"], "num_key_value_heads": parameters.get("n_kv_heads", parameters["n_heads"]), "head_dim": width,
        "intermediate_size": mlp, "vocab_size": words, "max_position_embeddings": 8192, "rms_norm_eps": parameters["norm_eps"],
        "rope_theta": parameters.get("rope_theta", 500000.0), "hidden_act": "silu", "tie_word_embeddings": "lm_head.weight" not in tensors,
        "bos_token_id": 128000, "eos_token_id": [128001, 128009]}, indent=1) + "\n")
    if (download / "tokenizer.model").exists():
        shutil.copy(download / "tokenizer.model", folder)
    return len(tensors), at


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    download, folder = map(pathlib.Path, sys.argv[1:])
    if folder.exists():
        sys.exit(f"{folder} is there; name another folder")
    try:
        count, size = convert(download, folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, EOFError, pickle.UnpicklingError, zipfile.BadZipFile) as error:
        shutil.rmtree(folder, ignore_errors=True)
        sys.exit(f"{download}: {error}")
    print(f"{count} tensors of {size} bytes: {folder}\n  model = folder(\"{folder}\")")


if __name__ == "__main__":
    main()
