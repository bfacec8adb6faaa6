"""Llama 3 8B under PyTorch's FakeTensorMode, its FLOPs counted by FlopCounterMode.

Answers "products" with the FLOPs that were counted, "parameters" with their number, "forward" with the
milliseconds of a forward pass, and every other line with those of building the model and the pass.
"""

import sys
import time

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

VOCABULARY, LAYERS, WIDTH, FEED_FORWARD = 128256, 32, 4096, 14336
HEADS, KEY_HEADS, THETA, EPSILON = 32, 8, 500000.0, 1e-5
HEAD = WIDTH // HEADS
BATCH, LENGTH = 1, 8192


def attention_flops(query, key, value, *_, out_shape=None, **__):
    return sdpa_flop_count(query, key, value)


# The counter knows attention by its names on graphics cards; on a processor it has another one.
ATTENTION = {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: attention_flops}


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False)


def rotate(x, turn):
    pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * turn).flatten(-2).type_as(x)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = linear(WIDTH, WIDTH)
        self.key = linear(WIDTH, KEY_HEADS * HEAD)
        self.value = linear(WIDTH, KEY_HEADS * HEAD)
        self.output = linear(WIDTH, WIDTH)

    def forward(self, x, turn):
        split = lambda x: x.unflatten(-1, (-1, HEAD)).transpose(1, 2)
        shared = lambda x: x.repeat_interleave(HEADS // KEY_HEADS, dim=1)
        query = rotate(split(self.query(x)), turn)
        key = shared(rotate(split(self.key(x)), turn))
        value = shared(split(self.value(x)))
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output(mixed.transpose(1, 2).flatten(-2))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = linear(WIDTH, FEED_FORWARD)
        self.up = linear(WIDTH, FEED_FORWARD)
        self.down = linear(FEED_FORWARD, WIDTH)

    def forward(self, x):
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm = nn.RMSNorm(WIDTH, eps=EPSILON)
        self.attention = Attention()
        self.feed_forward_norm = nn.RMSNorm(WIDTH, eps=EPSILON)
        self.feed_forward = FeedForward()

    def forward(self, x, turn):
        x = x + self.attention(self.attention_norm(x), turn)
        return x + self.feed_forward(self.feed_forward_norm(x))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH, eps=EPSILON)
        self.head = linear(WIDTH, VOCABULARY)
        frequencies = THETA ** (-torch.arange(0, HEAD, 2, dtype=torch.float32) / HEAD)
        angles = torch.outer(torch.arange(LENGTH, dtype=torch.float32), frequencies)
        self.register_buffer("turn", torch.polar(torch.ones_like(angles), angles))

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, self.turn)
        return self.head(self.norm(x))


def main():
    torch.set_default_dtype(torch.bfloat16)
    for request in sys.stdin:
        start = time.perf_counter()
        with FakeTensorMode(), torch.no_grad():
            model = Llama()
            tokens = torch.zeros(BATCH, LENGTH, dtype=torch.int64)
            built = time.perf_counter()
            with FlopCounterMode(display=False, custom_mapping=ATTENTION) as counter:
                scores = model(tokens)
        end = time.perf_counter()
        assert scores.shape == (BATCH, LENGTH, VOCABULARY) and scores.dtype == torch.bfloat16
        match request.strip():
            case "products":
                answer = counter.get_total_flops()
            case "parameters":
                answer = sum(parameter.numel() for parameter in model.parameters())
            case "forward":
                answer = (end - built) * 1e3
            case _:
                answer = (end - start) * 1e3
        print(answer, flush=True)
        del model, tokens, scores, counter


main()
