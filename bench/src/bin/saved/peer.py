"""PyTorch takes what Burn's layers were saved as, and computes the same with it.

Answers every line, the name of a module and a folder, with the largest difference of the outputs,
relative to those above one; with infinity, and the reason on stderr, where it cannot load the file.
"""

import pathlib
import sys
import traceback

import torch
from safetensors.torch import load_file, load_model
from torch import nn


class First(nn.Module):
    """A module of several outputs, of which the first one counts."""

    def __init__(self, module, prepare=lambda x: (x,)):
        super().__init__()
        self.module, self.prepare = module, prepare

    def forward(self, x):
        return self.module(*self.prepare(x))[0]


class Shared(nn.Module):
    """A linear layer at two places of a list, and between them a norm and levels of an LSTM."""

    def __init__(self):
        super().__init__()
        self.linear = nn.ModuleList([nn.Linear(4, 4), nn.Linear(6, 4)])
        self.linear.append(self.linear[0])
        self.norm = nn.LayerNorm(4)
        self.lstm = nn.LSTM(4, 6, num_layers=2, batch_first=True)

    def forward(self, x):
        x, _ = self.lstm(self.norm(self.linear[0](x)))
        return self.linear[2](self.linear[1](x))


def recurrent(layer, **options):
    return First(layer(3, 4, batch_first=True, **options))


def transformer(norm_first):
    return {
        "d_model": 6,
        "nhead": 2,
        "dim_feedforward": 8,
        "activation": "relu" if norm_first else "gelu",
        "norm_first": norm_first,
        "batch_first": True,
    }


def encoder(norm_first):
    layer = nn.TransformerEncoderLayer(**transformer(norm_first))
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


class Decoder(nn.TransformerDecoder):
    """A decoder that attends to its own input."""

    def __init__(self, norm_first):
        super().__init__(nn.TransformerDecoderLayer(**transformer(norm_first)), 2)

    def forward(self, x):
        return super().forward(x, x)


MODULES = {
    "linear": lambda: nn.Linear(5, 3),
    "linear-column": lambda: nn.Linear(4, 4),
    "conv1d": lambda: nn.Conv1d(2, 4, 3),
    "conv2d": lambda: nn.Conv2d(4, 6, (3, 2), groups=2),
    "conv3d": lambda: nn.Conv3d(2, 3, 2),
    "conv-transpose1d": lambda: nn.ConvTranspose1d(3, 2, 3),
    "conv-transpose2d": lambda: nn.ConvTranspose2d(4, 6, (2, 3), groups=2),
    "conv-transpose3d": lambda: nn.ConvTranspose3d(2, 3, 2),
    "batch-norm": lambda: nn.BatchNorm1d(3),
    "group-norm": lambda: nn.GroupNorm(2, 4),
    "instance-norm": lambda: nn.InstanceNorm2d(3, affine=True),
    "layer-norm": lambda: nn.LayerNorm(4),
    "rms-norm": lambda: nn.RMSNorm(4, eps=1e-5),
    "prelu": lambda: nn.PReLU(3),
    "attention": lambda: First(
        nn.MultiheadAttention(6, 2, batch_first=True), lambda x: (x, x, x)
    ),
    "cross-attention": lambda: First(
        nn.MultiheadAttention(6, 2, kdim=4, vdim=4, batch_first=True),
        lambda x: (x, x[..., :4], x[..., :4]),
    ),
    "rnn": lambda: recurrent(nn.RNN),
    "rnn-levels": lambda: recurrent(nn.RNN, num_layers=2),
    "rnn-bidirectional": lambda: recurrent(nn.RNN, bidirectional=True),
    "lstm": lambda: recurrent(nn.LSTM),
    "lstm-levels": lambda: recurrent(nn.LSTM, num_layers=2),
    "lstm-bidirectional-levels": lambda: recurrent(
        nn.LSTM, num_layers=2, bidirectional=True
    ),
    "gru": lambda: recurrent(nn.GRU),
    "gru-levels": lambda: recurrent(nn.GRU, num_layers=2, bias=False),
    "gru-bidirectional": lambda: recurrent(nn.GRU, bidirectional=True),
    "encoder-post": lambda: encoder(False),
    "encoder-pre": lambda: encoder(True),
    "decoder-post": lambda: Decoder(False),
    "decoder-pre": lambda: Decoder(True),
    "shared": Shared,
}


def difference(name, folder):
    module = MODULES[name]().eval()
    target = module.module if isinstance(module, First) else module
    path = folder / f"{name}.safetensors"
    if name == "shared":
        # Of a tie the file has one name, as `save_model` writes it.
        load_model(target, path, strict=True)
    else:
        target.load_state_dict(load_file(path), strict=True)
    example = load_file(folder / f"{name}.example.safetensors")
    with torch.no_grad():
        output = module(example["input"])
    assert output.shape == example["output"].shape, output.shape
    differences = (output - example["output"]).abs()
    return (differences / output.abs().clamp(min=1)).max().item()


torch.set_num_threads(1)
for line in sys.stdin:
    name, folder = line.rstrip("\n").split(" ", 1)
    try:
        print(difference(name, pathlib.Path(folder)), flush=True)
    except Exception:
        traceback.print_exc()
        print("inf", flush=True)
