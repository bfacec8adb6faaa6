"""The same training state in PyTorch, saved and loaded with `torch.save` and `torch.load`.

A request is an object in one line; the answer is milliseconds, or a number that was asked for. A sum
that is not as expected ends the script.
"""

import json
import os
import sys
import time

import torch
from torch import nn

LAYERS, WIDTH, PAGE = 16, 4096, 1024


def make():
    model = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))
    optimizer = torch.optim.Adam(model.parameters())
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 1e-3)
    optimizer.step()
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict()}


def save(state, path):
    torch.save(state, path)
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def tensors(state):
    yield from state["model"].values()
    for remembered in state["optimizer"]["state"].values():
        yield from (remembered["exp_avg"], remembered["exp_avg_sq"])


def pages(state):
    """The first value of every page of the tensors' memory."""
    return sum(tensor.view(-1)[::PAGE].sum().item() for tensor in tensors(state))


def main():
    state, expected = None, None
    for line in sys.stdin:
        request = json.loads(line)
        answer = None
        start = time.perf_counter()
        match request["do"]:
            case "make":
                state = make()
                expected = pages(state)
                answer = sum(tensor.numel() * tensor.element_size() for tensor in tensors(state))
            case "save":
                save(state, request["path"])
            case "load":
                state = torch.load(request["path"], mmap=request["mmap"])
                sum_ = pages(state)
                assert sum_ == expected, f"the values sum to {sum_}"
            case "drop":
                state = None
            case "threads":
                answer = torch.get_num_threads()
        milliseconds = (time.perf_counter() - start) * 1e3
        print(milliseconds if answer is None else answer, flush=True)


main()
