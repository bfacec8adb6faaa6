"""What PyTorch's FlopCounterMode counts for the models of `trace/products.rs`, forward and backward.

    python products.py > products.json        # with PyTorch 2.9.0
"""

import json

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


class Attention(nn.Module):
    """Attention of several heads, in the products that it consists of."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))

    def forward(self, query, memory):
        def split(x):
            return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        q, k, v = split(self.query(query)), split(self.key(memory)), split(self.value(memory))
        scores = (q @ k.transpose(-2, -1)) / q.shape[-1] ** 0.5
        context = scores.softmax(-1) @ v
        return self.output(context.transpose(1, 2).flatten(-2))


class EncoderLayer(nn.Module):
    def __init__(self, width, hidden, heads):
        super().__init__()
        self.attention = Attention(width, heads)
        self.inner, self.outer = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))

    def forward(self, x):
        x = self.norms[0](x + self.attention(x, x))
        return self.norms[1](x + self.outer(nn.functional.gelu(self.inner(x))))


class Recurrent(nn.Module):
    """A cell, step by step."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, x):
        zeros = torch.zeros(x.shape[0], self.cell.hidden_size)
        state = (zeros, zeros) if isinstance(self.cell, nn.LSTMCell) else zeros
        outputs = []
        for step in x.unbind(1):
            state = self.cell(step, state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return torch.stack(outputs, 1)


def models():
    yield "mlp", nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)), (32, 64)
    yield "linear_3d", nn.Sequential(nn.Linear(24, 40), nn.Linear(40, 8, bias=False)), (4, 7, 24)
    yield "conv1d", nn.Sequential(
        nn.Conv1d(8, 16, 5, stride=2, padding=2), nn.ConvTranspose1d(16, 6, 4, stride=2)
    ), (3, 8, 33)
    yield "conv2d", nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 24, (3, 5), stride=(2, 1), dilation=2),
        nn.ConvTranspose2d(24, 8, 3, stride=2, padding=1, output_padding=1),
    ), (2, 3, 20, 18)
    yield "conv2d_pointwise", nn.Sequential(nn.Conv2d(12, 20, 1), nn.Conv2d(20, 5, 1)), (2, 12, 9, 7)
    yield "conv2d_groups", nn.Sequential(
        nn.Conv2d(8, 16, 3, groups=4),
        nn.Conv2d(16, 16, 3, groups=16, padding=1),
        nn.ConvTranspose2d(16, 8, 2, stride=2, groups=2),
    ), (2, 8, 12, 11)
    yield "conv3d", nn.Sequential(
        nn.Conv3d(2, 6, 3, padding=1, stride=2), nn.ConvTranspose3d(6, 3, 2, stride=2)
    ), (2, 2, 8, 9, 10)
    yield "attention", Attention(32, 4), (2, 6, 32), (2, 9, 32)
    yield "encoder", nn.Sequential(EncoderLayer(32, 80, 4), EncoderLayer(32, 80, 4)), (3, 7, 32)
    yield "rnn", Recurrent(nn.RNNCell(20, 30)), (4, 5, 20)
    yield "gru", Recurrent(nn.GRUCell(20, 30)), (4, 5, 20)
    yield "lstm", Recurrent(nn.LSTMCell(20, 30)), (4, 5, 20)


def count(run):
    with FlopCounterMode(display=False) as counter:
        result = run()
    return result, counter.get_total_flops()


def main():
    golden = {}
    for name, model, *shapes in models():
        inputs = [torch.zeros(shape) for shape in shapes]
        with torch.no_grad():
            _, inference = count(lambda: model(*inputs))
        output, forward = count(lambda: model(*inputs))
        _, backward = count(lambda: output.square().mean().backward())
        golden[name] = {"inference": inference, "forward": forward, "backward": backward}
        if any(getattr(layer, "groups", 1) > 1 for layer in model.modules()):
            # PyTorch counts a grouped kernel's gradient as if every group met every input channel.
            golden[name]["backward"] = None
    print(json.dumps(golden, indent=2))


main()
