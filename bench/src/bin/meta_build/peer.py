"""The same module on PyTorch's meta device.

Answers "parameters" with their number, and every other line with the milliseconds of one build.
"""

import sys
import time

import torch
from torch import nn

VOCABULARY, LAYERS, WIDTH, FEED_FORWARD = 128256, 80, 8192, 28672
KEY_VALUE_WIDTH, HEAD, POSITIONS, THETA = 1024, 128, 8192, 500000.0


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, KEY_VALUE_WIDTH, bias=False)
        self.value = nn.Linear(WIDTH, KEY_VALUE_WIDTH, bias=False)
        self.output = nn.Linear(WIDTH, WIDTH, bias=False)


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(WIDTH, FEED_FORWARD, bias=False)
        self.up = nn.Linear(WIDTH, FEED_FORWARD, bias=False)
        self.down = nn.Linear(FEED_FORWARD, WIDTH, bias=False)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm = nn.RMSNorm(WIDTH)
        self.attention = Attention()
        self.feed_forward_norm = nn.RMSNorm(WIDTH)
        self.feed_forward = FeedForward()


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        theta = THETA ** (-torch.arange(0, HEAD, 2) / HEAD)
        angles = torch.outer(torch.arange(POSITIONS), theta).repeat_interleave(2, dim=-1)
        self.register_buffer("theta", theta)
        self.register_buffer("freq_complex", torch.stack([angles.cos(), angles.sin()], dim=-1))


def build():
    with torch.device("meta"):
        return Llama()


def main():
    for request in sys.stdin:
        start = time.perf_counter()
        model = build()
        milliseconds = (time.perf_counter() - start) * 1e3
        if request.strip() == "parameters":
            print(sum(parameter.numel() for parameter in model.parameters()), flush=True)
        else:
            print(milliseconds, flush=True)
        del model


main()
