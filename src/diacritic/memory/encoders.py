"""What the carrier sees: g_o(O_t), g_a(A_{t−1}), and g_s(Ō_t) for the controls with matched side information.

Parameters say by their names which kind an encoder is: `deep`, `narrow` or `table` (`Architecture.encoder`).
"""

import torch
from torch import Tensor

from certify.errors import UserError
from diacritic.memory.layers import Parameters, Weight, dense, linear
from diacritic.memory.protocol import Inputs
from diacritic.memory.shape import Architecture, Shape


def encoders(shape: Shape, architecture: Architecture) -> dict[str, Weight]:
    """The parameters of all of them."""
    width, features = architecture.width, architecture.feature_size
    beside = width if shape.frames and architecture.camera == "beside" else 0
    if architecture.encoder == "table":
        layers = {
            "observe.table.weight": Weight((shape.observation, features), "normal"),
            "previous.table.weight": Weight((shape.action, features), "normal"),
            "previous.none": Weight((features,), "normal"),
        }
    elif architecture.encoder == "narrow":
        layers = _narrow("observe", shape.observation, width, features, beside)
        layers |= _narrow("previous", shape.action, width, features)
    else:
        layers = dense("observe.first", shape.observation, width) | dense("observe.second", width + beside, width)
        layers |= dense("previous", shape.action, width)
    if shape.frames:
        from diacritic.memory.pixels import FRONTS

        layers |= FRONTS[architecture.camera].weights(width)
    if architecture.side != "symbol":
        return layers
    if architecture.encoder == "deep":
        return layers | dense("symbol", shape.symbols, width)
    return layers | _narrow("symbol", shape.symbols, width, features)


def observe(parameters: Parameters, inputs: Inputs, rough: bool = False) -> Tensor:
    """g_o(O_t), with the camera's features where there is a camera, whose products may be `rough`."""
    if "observe.table.weight" in parameters:
        return linear(parameters, "observe.table", inputs.observation)
    first = linear(parameters, "observe.first", inputs.observation)
    if inputs.frame is not None:
        from diacritic.memory.pixels import camera_of, features

        seen = features(parameters, inputs.frame, rough)
        first = torch.cat([first, seen], -1) if camera_of(parameters) == "beside" else first + seen
    hidden = torch.relu(first)
    if "observe.out.weight" in parameters:
        return linear(parameters, "observe.out", hidden)
    return torch.relu(linear(parameters, "observe.second", hidden))


def encode_action(parameters: Parameters, previous: Tensor) -> Tensor:
    """g_a(A_{t−1}); in a table, no action yet (a row of zeros) has a vector of its own."""
    if "previous.table.weight" in parameters:
        none = 1 - previous.sum(-1, keepdim=True)
        return linear(parameters, "previous.table", previous) + none * parameters["previous.none"].unsqueeze(1)
    if "previous.out.weight" in parameters:
        return linear(parameters, "previous.out", torch.relu(linear(parameters, "previous.first", previous)))
    return torch.relu(linear(parameters, "previous", previous))


def symbols_read(parameters: Parameters) -> int:
    """How many symbols g_s knows."""
    return parameters["symbol.first.weight" if "symbol.first.weight" in parameters else "symbol.weight"].shape[-2]


def symbol_vectors(parameters: Parameters) -> Tensor:
    """g_s of every symbol, [runs, symbols, width], beside deep encoders."""
    return torch.relu(parameters["symbol.weight"] + parameters["symbol.bias"].unsqueeze(1))


def side_information(parameters: Parameters, inputs: Inputs, features: Tensor) -> Tensor:
    """What the transition and the prior read."""
    narrow = "symbol.out.weight" in parameters
    if not narrow and "symbol.weight" not in parameters:
        return features
    if inputs.symbol is None:
        raise UserError("symbol", "this control reads the symbol Ō_t; give it with every observation")
    if narrow:
        return linear(parameters, "symbol.out", torch.relu(linear(parameters, "symbol.first", inputs.symbol)))
    return torch.relu(linear(parameters, "symbol", inputs.symbol))


def prior_input(architecture: Architecture, inputs: Inputs, side: Tensor) -> Tensor:
    """What the prior reads: what the transition reads, or the observation (or symbol) itself, for every run."""
    if architecture.prior_reads == "features":
        return side
    shown = inputs.observation if architecture.side == "raw" or inputs.symbol is None else inputs.symbol
    return shown if shown.dim() == 3 else shown.expand(len(side), *shown.shape)


def _narrow(name: str, inputs: int, width: int, features: int, beside: int = 0) -> dict[str, Weight]:
    return dense(f"{name}.first", inputs, width) | dense(f"{name}.out", width + beside, features)
