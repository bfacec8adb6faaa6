"""Loading the same files in PyTorch, from the meta device.

A request is an object in one line; the answer is milliseconds, or a number that was asked for. A sum
that is not as expected ends the script.
"""

import json
import os
import sys
import time

import torch
from safetensors.torch import load_file, save_file
from torch import nn

LAYERS, WIDTH, PAGE = 16, 4096, 1024


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))

    def forward(self, input):
        for layer in self.layers:
            input = layer(input)
        return input


def build():
    with torch.device("meta"):
        return Layers()


def load(model, files, copy):
    for file in files:
        tensors = load_file(file)
        if copy:
            tensors = {name: tensor.clone() for name, tensor in tensors.items()}
        model.load_state_dict(tensors, assign=True, strict=len(files) == 1)


@torch.no_grad()
def pages(model):
    """The first value of every page of the tensors' memory."""
    return sum(parameter.view(-1)[::PAGE].sum().item() for parameter in model.parameters())


@torch.no_grad()
def sums(model):
    return sum(parameter.sum().item() for parameter in model.parameters())


def step(model, optimizer, input):
    optimizer.zero_grad()
    model(input).mean().backward()
    optimizer.step()


def save(model, path):
    save_file(model.state_dict(), path, metadata={"format": "pt"})
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


READS = {"pages": pages, "sums": sums}


def main():
    model, optimizer, input = None, None, None
    for line in sys.stdin:
        request = json.loads(line)
        do = request["do"]
        if do == "load":
            model = build()
        elif do == "step" and optimizer is None:
            optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        if do in ("forward", "step"):
            input = torch.full((request["batch"], WIDTH), 1.0)
        answer = None
        start = time.perf_counter()
        if do == "load":
            load(model, request["files"], request["copy"])
            if request["read"]:
                sum_ = READS[request["read"]](model)
                assert sum_ == request["expected"], f"the values sum to {sum_}"
        elif do == "forward":
            with torch.no_grad():
                model(input)
        elif do == "step":
            step(model, optimizer, input)
        elif do == "save":
            save(model, request["path"])
        elif do == "threads":
            answer = torch.get_num_threads()
        elif do == "drop":
            model, optimizer = None, None
        milliseconds = (time.perf_counter() - start) * 1e3
        print(milliseconds if answer is None else answer, flush=True)


main()
