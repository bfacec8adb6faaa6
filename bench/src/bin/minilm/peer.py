"""all-MiniLM-L6-v2 in PyTorch: the embeddings of sentences whose tokens are given.

Prints milliseconds since PyTorch was imported, the number of its threads, and how alike the first
and the last sentence are.
"""

import json
import sys
import time

import torch
from safetensors.torch import load_file
from torch.nn import functional as F

HEADS, EPSILON = 12, 1e-12


def linear(weights, name, input):
    return F.linear(input, weights[f"{name}.weight"], weights[f"{name}.bias"])


def norm(weights, name, input):
    weight = weights[f"{name}.weight"]
    return F.layer_norm(input, weight.shape, weight, weights[f"{name}.bias"], EPSILON)


def attention(weights, name, input):
    tokens, width = input.shape
    query, key, value = (
        linear(weights, f"{name}.self.{part}", input).view(tokens, HEADS, -1).transpose(0, 1)
        for part in ("query", "key", "value")
    )
    mixed = F.scaled_dot_product_attention(query, key, value)
    return linear(weights, f"{name}.output.dense", mixed.transpose(0, 1).reshape(tokens, width))


def embed(weights, tokens):
    ids = torch.tensor(tokens)
    hidden = F.embedding(ids, weights["embeddings.word_embeddings.weight"])
    hidden = hidden + weights["embeddings.position_embeddings.weight"][: len(tokens)]
    hidden = hidden + weights["embeddings.token_type_embeddings.weight"][0]
    hidden = norm(weights, "embeddings.LayerNorm", hidden)
    layer = 0
    while f"encoder.layer.{layer}.output.dense.weight" in weights:
        name = f"encoder.layer.{layer}"
        mixed = attention(weights, f"{name}.attention", hidden)
        hidden = norm(weights, f"{name}.attention.output.LayerNorm", hidden + mixed)
        inner = F.gelu(linear(weights, f"{name}.intermediate.dense", hidden))
        outer = linear(weights, f"{name}.output.dense", inner)
        hidden = norm(weights, f"{name}.output.LayerNorm", hidden + outer)
        layer += 1
    return F.normalize(hidden.mean(0), dim=0)


@torch.inference_mode()
def main():
    imported = time.perf_counter()
    path, sentences = sys.argv[1], json.loads(sys.argv[2])
    weights = load_file(path)
    embeddings = [embed(weights, tokens) for tokens in sentences]
    alike = (embeddings[0] @ embeddings[-1]).item()
    milliseconds = (time.perf_counter() - imported) * 1e3
    print(milliseconds, torch.get_num_threads(), alike, flush=True)


main()
