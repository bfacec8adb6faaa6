"""The tiny Llama in PyTorch, written as Meta's own release has it: scores, loss and gradients.

    python tiny.py > tiny.json        # with PyTorch 2.9.0

Weights are set by a formula of whole numbers, the same as in `src/golden.rs`. All of it is computed in
double precision. Rotary encoding turns neighbours (0 and 1, 2 and 3), as Meta's release and Burn do;
the halves that Hugging Face's version turns (0 and 4, 1 and 5) need their weights permuted.
"""

import json

import torch
from torch import nn

LAYERS, WIDTH, HIDDEN, HEADS, KEY_HEADS, VOCABULARY = 2, 32, 96, 4, 2, 64
HEAD, EPSILON, THETA = WIDTH // HEADS, 1e-5, 500000.0
BATCH, LENGTH = 2, 12


def rotated(x):
    """Of [batch, length, heads, head]: each pair as a complex number, turned by its place's angle."""
    frequencies = THETA ** (-torch.arange(0, HEAD, 2) / HEAD)
    angles = torch.outer(torch.arange(x.shape[1]), frequencies)
    turn = torch.polar(torch.ones_like(angles), angles)[None, :, None, :]
    return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turn).flatten(-2)


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPSILON) * self.gamma


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(WIDTH, HEADS * HEAD, bias=False)
        self.key = nn.Linear(WIDTH, KEY_HEADS * HEAD, bias=False)
        self.value = nn.Linear(WIDTH, KEY_HEADS * HEAD, bias=False)
        self.output = nn.Linear(HEADS * HEAD, WIDTH, bias=False)

    def forward(self, x):
        split = lambda x: x.unflatten(-1, (-1, HEAD))
        shared = lambda x: x.repeat_interleave(HEADS // KEY_HEADS, dim=2)
        query = rotated(split(self.query(x))).transpose(1, 2)
        key = shared(rotated(split(self.key(x)))).transpose(1, 2)
        value = shared(split(self.value(x))).transpose(1, 2)
        later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        scores = (query @ key.transpose(-2, -1) / HEAD**0.5).masked_fill(later, -torch.inf)
        return self.output((scores.softmax(-1) @ value).transpose(1, 2).flatten(-2))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.attention = Norm(), Attention()
        self.feed_forward_norm, self.feed_forward = Norm(), FeedForward()

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = Norm()
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def unit(place, salt):
    """Between -1/2 and 1/2, as if at random."""
    x = (place + 1 + salt * 1000003) * 2654435761 % 2**32
    x ^= x >> 16
    x = x * 2246822519 % 2**32
    x ^= x >> 13
    return x / 2**32 - 0.5


def set_weights(model):
    for salt, (name, parameter) in enumerate(model.named_parameters()):
        values = [unit(place, salt) for place in range(parameter.numel())]
        values = torch.tensor(values, dtype=torch.float64)
        with torch.no_grad():
            if parameter.dim() == 1:
                parameter.copy_(1 + values)
            elif "embedding" in name:
                parameter.copy_((values * 12**0.5).view_as(parameter))
            else:
                # Of variance 1 / inputs; in Burn's layout, [inputs, outputs].
                outputs, inputs = parameter.shape
                values = values * (12 / inputs) ** 0.5
                parameter.copy_(values.view(inputs, outputs).T)


def main():
    torch.set_default_dtype(torch.float64)
    model = Llama()
    set_weights(model)
    tokens = torch.arange(BATCH * LENGTH).view(BATCH, LENGTH) * 37 % 61
    scores = model(tokens)
    targets = (tokens + 1) % VOCABULARY
    loss = nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
    loss.backward()
    rounded = lambda values: [float(f"{value:.8g}") for value in values]
    result = {
        "torch": torch.__version__.split("+")[0],
        "tokens": tokens.tolist(),
        "loss": loss.item(),
        "gradient_norms": [[name, p.grad.norm().item()] for name, p in model.named_parameters()],
        "scores": rounded(scores.flatten().tolist()),
    }
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in result.items()]
    print("{\n" + ",\n".join(lines) + "\n}")


main()
