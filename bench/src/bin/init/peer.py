"""The same layers in PyTorch: from the meta device to memory, initialised, and every value summed.

Answers "threads" with their number, and "uniform" or "normal" with the milliseconds of one run.
"""

import sys
import time

import torch
from torch import nn

LAYERS, WIDTH, STD = 16, 4096, 0.02


def build():
    with torch.device("meta"):
        return nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)))


@torch.no_grad()
def initialise(model, distribution):
    model.to_empty(device="cpu")
    for layer in model:
        if distribution == "uniform":
            layer.reset_parameters()
        else:
            for parameter in layer.parameters():
                nn.init.normal_(parameter, 0.0, STD)
    return sum(parameter.sum().item() for parameter in model.parameters())


def main():
    for request in sys.stdin:
        request = request.strip()
        if request == "threads":
            print(torch.get_num_threads(), flush=True)
            continue
        model = build()
        start = time.perf_counter()
        initialise(model, request)
        print((time.perf_counter() - start) * 1e3, flush=True)
        del model


main()
