"""What PyTorch saves of its own layers, and computes with them: the files in `golden`.

With the path of CREPE's `tiny.pth`, what PyTorch computes with that as well.

Every parameter is drawn anew, so that none has the ones or zeros of its initial value, which would
hide a swapped pair. The same versions make the same files.
"""

import json
import pathlib
import sys

import torch
from safetensors.torch import save_file, save_model
from torch import nn

HERE = pathlib.Path(__file__).parent / "golden"
EXAMPLES = {}


def drawn(module):
    """The module with parameters that are all different, for evaluation."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.5)
    return module.eval()


def example(name, module, *inputs, **options):
    """Keep the inputs and the output."""
    with torch.no_grad():
        output = module(*inputs, **options)
    output = output[0] if isinstance(output, tuple) else output
    inputs = [*inputs, *(value for value in options.values() if torch.is_tensor(value))]
    for place, tensor in enumerate(inputs):
        EXAMPLES[f"{name}.input{place}"] = tensor.clone().contiguous()
    EXAMPLES[f"{name}.output"] = output.contiguous()


def case(name, module, *inputs, **options):
    """Keep the tensors of the module too, as `save_file` does by itself."""
    module = drawn(module)
    save_file(module.state_dict(), HERE / f"{name}.safetensors")
    example(name, module, *inputs, **options)
    return module


def layers():
    x = torch.randn
    case("linear", nn.Linear(5, 3), x(2, 5))
    case("linear_square", nn.Linear(4, 4), x(2, 4))
    case("embedding", nn.Embedding(7, 3), torch.tensor([[0, 6, 2], [1, 1, 5]]))
    case("conv1d", nn.Conv1d(2, 4, 3, stride=2, padding=1), x(2, 2, 9))
    case("conv2d", nn.Conv2d(4, 6, (3, 2), dilation=(1, 2), groups=2), x(2, 4, 5, 6))
    case("conv3d", nn.Conv3d(2, 3, 2, bias=False), x(1, 2, 3, 4, 5))
    transposed = nn.ConvTranspose1d(3, 2, 3, stride=2, padding=1, output_padding=1)
    case("conv_transpose1d", transposed, x(2, 3, 5))
    transposed = nn.ConvTranspose2d(4, 6, (2, 3), stride=(1, 2), groups=2)
    case("conv_transpose2d", transposed, x(1, 4, 3, 4))
    case("group_norm", nn.GroupNorm(2, 4), x(2, 4, 5))
    case("instance_norm", nn.InstanceNorm2d(3, affine=True), x(2, 3, 4, 5))
    case("layer_norm", nn.LayerNorm(4), x(2, 3, 4))
    case("rms_norm", nn.RMSNorm(4, eps=1e-5), x(2, 3, 4))
    case("prelu", nn.PReLU(3), x(2, 3, 4))

    norm = drawn(nn.BatchNorm1d(3)).train()
    optimizer = torch.optim.SGD(norm.parameters(), 0.1)
    for _ in range(5):
        loss = (norm(x(8, 3) * 2 + 1) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    norm.eval()
    save_file(norm.state_dict(), HERE / "batch_norm.safetensors")
    example("batch_norm", norm, x(4, 3))


def attention():
    x = torch.randn
    layer = nn.MultiheadAttention(6, 2, batch_first=True)
    case("attention", layer, x(2, 4, 6), x(2, 3, 6), x(2, 3, 6))
    # With another width of keys and values the projections are tensors of their own.
    layer = nn.MultiheadAttention(6, 2, kdim=4, vdim=4, batch_first=True)
    context = x(2, 3, 4)
    case("cross_attention", layer, x(2, 5, 6), context, context)


def recurrent():
    x = torch.randn
    for name, layer in [("rnn", nn.RNN), ("lstm", nn.LSTM), ("gru", nn.GRU)]:
        case(name, layer(3, 4, batch_first=True), x(2, 5, 3))
        case(f"{name}_levels", layer(3, 4, num_layers=2, batch_first=True), x(2, 5, 3))
        both = layer(3, 4, batch_first=True, bidirectional=True)
        case(f"{name}_bidirectional", both, x(2, 5, 3))
    both = nn.LSTM(3, 2, num_layers=2, batch_first=True, bidirectional=True)
    case("lstm_bidirectional_levels", both, x(2, 5, 3))
    case("gru_without_bias", nn.GRU(3, 4, bias=False, batch_first=True), x(2, 5, 3))


def transformers():
    x = torch.randn
    for name, options in [
        ("post_gelu", {"activation": "gelu"}),
        ("pre_relu", {"norm_first": True}),
    ]:
        layer = nn.TransformerEncoderLayer(6, 2, 8, batch_first=True, **options)
        case(f"encoder_layer_{name}", layer, x(2, 4, 6))
        encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        padding = torch.tensor([[False, False, False, True], [False, False, True, True]])
        case(f"encoder_{name}", encoder, x(2, 4, 6), src_key_padding_mask=padding)
        layer = nn.TransformerDecoderLayer(6, 2, 8, batch_first=True, **options)
        decoder = nn.TransformerDecoder(layer, 1)
        causal = torch.ones(3, 3, dtype=torch.bool).triu(1)
        case(f"decoder_{name}", decoder, x(2, 3, 6), x(2, 4, 6), tgt_mask=causal)


class Model(nn.Module):
    """One linear layer at two places, and an output that shares the embedding's matrix."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(9, 4)
        self.first = nn.Linear(4, 4)
        self.conv = nn.ModuleList([nn.Conv1d(4, 4, 3, padding=1), nn.BatchNorm1d(4)])
        self.second = self.first
        self.rnn = nn.LSTM(4, 6, num_layers=2, batch_first=True)
        self.norm = nn.LayerNorm(6)
        self.down = nn.Linear(6, 4, bias=False)
        self.output = nn.Linear(4, 9, bias=False)
        self.output.weight = self.embedding.weight

    def forward(self, tokens):
        x = self.first(self.embedding(tokens)).relu()
        x = self.conv[1](self.conv[0](x.transpose(1, 2))).transpose(1, 2)
        x, _ = self.rnn(self.second(x))
        return self.output(self.down(self.norm(x)))


def model():
    model = drawn(Model()).train()
    for _ in range(3):
        model(torch.randint(0, 9, (4, 5)))
    model.eval()
    tokens = torch.tensor([[0, 8, 3, 3], [5, 1, 7, 2]])
    example("model", model, tokens)
    state = model.state_dict()
    # Ties: one name each, the other one in the metadata.
    save_model(model, str(HERE / "model.safetensors"))
    # Both names of a tie, which share one storage.
    torch.save(state, HERE / "model.pt")
    # Below a key of a larger object, in the format from before PyTorch 1.6.
    whole = {"epoch": 3, "state_dict": state}
    torch.save(whole, HERE / "model.pth", _use_new_zipfile_serialization=False)
    # As `transformers` wrote shards.
    names = list(state)
    files = {}
    for place, part in enumerate([names[:9], names[9:]], 1):
        file = f"pytorch_model-{place:05}-of-00002.bin"
        torch.save({name: state[name].clone() for name in part}, HERE / file)
        files |= {name: file for name in part}
    size = sum(tensor.nbytes for tensor in state.values())
    index = {"metadata": {"total_size": size}, "weight_map": files}
    text = json.dumps(index, indent=2, sort_keys=True) + "\n"
    (HERE / "pytorch_model.bin.index.json").write_text(text)


def crepe(path):
    """CREPE, small, on one frame: a tone of 220 Hz, with noise."""
    state = torch.load(path, weights_only=True)
    torch.manual_seed(21)
    frame = torch.sin(torch.arange(1024) * (2 * torch.pi * 220 / 16000))
    frame = frame + 0.1 * torch.randn(1024)
    frame = ((frame - frame.mean()) / frame.std())[None]
    x = frame[:, None, :, None]
    for place in range(1, 7):
        first = place == 1
        x = nn.functional.pad(x, (0, 0, 254, 254) if first else (0, 0, 31, 32))
        weight, bias = (state[f"conv{place}.{name}"] for name in ("weight", "bias"))
        x = nn.functional.conv2d(x, weight, bias, stride=(4, 1) if first else 1).relu()
        norm = nn.BatchNorm2d(x.shape[1], eps=0.0010000000474974513).eval()
        prefix = f"conv{place}_BN."
        norm.load_state_dict({name: state[prefix + name] for name in norm.state_dict()})
        x = nn.functional.max_pool2d(norm(x), (2, 1), (2, 1))
    x = x.permute(0, 2, 1, 3).reshape(1, 256)
    x = nn.functional.linear(x, state["classifier.weight"], state["classifier.bias"])
    tensors = {"crepe.input0": frame, "crepe.output": x.sigmoid().detach()}
    save_file(tensors, HERE / "crepe.safetensors")


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    torch.manual_seed(20)
    torch.set_num_threads(1)
    layers()
    attention()
    recurrent()
    transformers()
    model()
    # As those who note what wrote a file do.
    save_file(EXAMPLES, HERE / "examples.safetensors", metadata={"format": "pt"})
    for path in sys.argv[1:]:
        crepe(path)
