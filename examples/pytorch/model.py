"""The small transformer that the examples train, its data, and its loss.

It is seeded, so every rank builds the same one, and a run on many ranks can be held against a run on one.
"""

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY = 64
LENGTH = 32
WIDTH = 64
HEADS = 8
BLOCKS = 4
# Sequences in a batch of all ranks together.
BATCH = 16


class Attention(nn.Module):
    """Each token looks at itself and at those before it."""

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, WIDTH, bias=False)
        self.value = nn.Linear(WIDTH, WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        # The number of heads is left open: under tensor parallelism a rank has only some of them.
        query, key, value = (
            layer(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(-2))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.attention = nn.LayerNorm(WIDTH), Attention()
        self.mlp_norm, self.mlp = nn.LayerNorm(WIDTH), Mlp()

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class Embedding(nn.Module):
    """Tokens and their places become vectors."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Parameter(0.02 * torch.randn(LENGTH, WIDTH))

    def forward(self, tokens):
        return self.tokens(tokens) + self.places


class Head(nn.Module):
    """Scores of the token that comes next."""

    def __init__(self):
        super().__init__()
        self.norm, self.scores = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x):
        return self.scores(self.norm(x))


class Transformer(nn.Module):
    """A stage of a pipeline leaves out what other stages have: `embedding` and `head` may be None, `blocks` shorter."""

    def __init__(self, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.embedding = Embedding()
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.head = Head()

    def forward(self, x):
        if self.embedding is not None:
            x = self.embedding(x)
        for block in self.blocks:
            x = block(x)
        return x if self.head is None else self.head(x)


def batches(steps, seed=1):
    """(tokens, tokens that come next) of each step: rows that count up from some number by some stride."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        first = torch.randint(0, VOCABULARY, (BATCH, 1), generator=generator)
        stride = torch.randint(1, 8, (BATCH, 1), generator=generator)
        rows = (first + stride * torch.arange(LENGTH + 1)) % VOCABULARY
        yield rows[:, :-1].contiguous(), rows[:, 1:].contiguous()


def loss_of(scores, targets):
    return F.cross_entropy(scores.flatten(0, 1), targets.flatten())


def optimizer_of(parameters, **options):
    # With so large an eps, a gradient that is nothing but rounding moves no weight: Adam divides gradients by
    # their size, and would else turn a difference in the last bit into a difference of a whole step.
    return torch.optim.Adam(parameters, lr=3e-3, eps=1e-4, **options)
