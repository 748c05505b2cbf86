"""What a carrier is made of: the sizes of a task and the choices that make one variant."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Shape:
    """What a task shows and asks."""

    observation: int
    """Size of the observation vector (a symbol is a one-hot vector)."""
    action: int
    """Size of the action vector, or the number of action symbols."""
    symbolic: bool = False
    """Actions are symbols: the head gives logits, the loss is cross-entropy."""
    symbols: int = 0
    """Symbols Ō_t of the frozen observation convention, for the matched-side-information controls."""
    classes: int = 0
    """Symbolic actions of the hierarchical control."""
    horizon: int = 0
    """Steps T of an episode, for heads that embed an offset."""
    labels: int = 0
    """Values of the hidden parameter θ, for system identification."""
    joint: int = 0
    """Values of the joint class label, for the privileged join head."""
    frames: bool = False
    """Observations come with 64 × 64 camera frames."""


@dataclass(frozen=True)
class Architecture:
    """The sole carrier, and its controls as departures from it."""

    codes: int = 16
    """Codebook size K."""
    code_size: int = 32
    """Dimension d of a code vector."""
    width: int = 128
    """Width of every hidden layer."""
    memory: str = "code"
    """The kind of memory: one hard `code`, a `gaussian` bottleneck, a `gru` state, the whole `history` (Transformer),
    or one that was registered (`memory.protocol`)."""
    bound: Literal["none", "tanh", "sphere"] = "none"
    """`tanh` bounds the proposal before it is quantised; `sphere` puts proposals and codes on the unit sphere."""
    start: Literal["zero", "first code"] = "zero"
    """e₀: the zero vector, or the vector of code 0, which then learns from every first step."""
    encoder: Literal["deep", "narrow", "table"] = "deep"
    """`deep`: g_o of two layers and g_a of one, each with a ReLU. `narrow`: one hidden layer and a linear one into
    `features` numbers, both of them. `table`: one vector of `features` numbers for each symbol."""
    features: int = 32
    """Numbers that narrow encoders and tables end in; deep ones end in `width`."""
    camera: Literal["added", "beside"] = "added"
    """How frames enter g_o: `added` to its first layer, from convolutions of 8, 4 and 3 pixels; or `beside` its hidden
    layer, as one of their own, from convolutions of 5, 5 and 3 pixels whose output is pooled."""
    residual_layers: int = 1
    """Hidden layers of f."""
    action_layers: int = 2
    """Hidden layers of the action head."""
    head_layers: int = 2
    """Hidden layers of the heads that forecast."""
    offset_size: int = 0
    """Numbers of an offset's embedding beside the other inputs of a head; 0: a vector added in its first layer."""
    prior_reads: Literal["features", "observation", "table"] = "features"
    """The prior reads g_o(O_t), or O_t itself by a hidden layer, or has logits of its own for every symbol."""
    path_size: int = 0
    """Numbers of the continuous path's state; 0: `width`."""
    path_alone: bool = False
    """A bypass proposes from its continuous path alone, without e and f."""
    persistent: bool = True
    """Without it every step starts from e₀: the code is computed from the present alone."""
    prior: Literal["conditional", "unconditional"] = "conditional"
    """r(C_t | O_t), or r(C_t)."""
    path: Literal["none", "scaffold", "bypass"] = "none"
    """A continuous GRU path into the proposal: annealed to zero before evaluation, or kept."""
    side: Literal["raw", "symbol"] = "raw"
    """`symbol`: transition and prior read the one-hot Ō_t (matched side information)."""
    readout: Literal["direct", "hierarchical", "intent"] = "direct"
    """`hierarchical` and `intent` read (C_t, Ō_t) and leave execution to a controller without memory."""
    controller_reads: Literal["features", "observation"] = "features"
    """That controller reads g_o(O_t); or O_t itself, and an intent's controller adds a correction to the intent."""
    identification: int = 0
    """Codes of a second carrier that only the identification head reads (0: none)."""
    detached: bool = False
    """The second carrier sends no gradient into the shared encoders."""
    deviation_reads: Literal["mean", "hidden"] = "mean"
    """A Gaussian bottleneck takes its deviation from its mean, or from f's last hidden layer."""
    blocks: Literal["pre", "post"] = "pre"
    """Blocks of the full history: normalised before each part, without biases; or after each, as PyTorch's are."""
    state_size: int = 128
    """Size of a GRU policy's state; its input net and head shrink with it."""

    @property
    def feature_size(self) -> int:
        """Numbers of g_o(O_t) and g_a(A_{t−1})."""
        return self.width if self.encoder == "deep" else self.features

    @property
    def usual(self) -> bool:
        """Whether encoders, f, prior and start are those that context tables and fused kernels compute."""
        deep = self.encoder == "deep" and self.residual_layers == 1 and self.prior_reads == "features"
        return deep and self.bound != "sphere" and self.start == "zero"
