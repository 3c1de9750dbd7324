"""The peers again, in NumPy: one problem at a time, one memory at a time, as their papers write them."""

import math
from typing import Any

import numpy as np


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-np.asarray(x, float)))


def softplus(x: float) -> float:
    return math.log1p(math.exp(x))


def softmax(values: list[float]) -> list[float]:
    exponentials = [math.exp(value - max(values)) for value in values]
    return [one / sum(exponentials) for one in exponentials]


class Parts:
    """What a controller emits, taken piece by piece."""

    def __init__(self, emitted: np.ndarray):
        self._left = list(emitted)

    def vector(self, size: int) -> np.ndarray:
        taken, self._left = self._left[:size], self._left[size:]
        return np.array(taken)

    def number(self) -> float:
        return float(self.vector(1)[0])


class SlowRam:
    """A list of what was written; with a tape the weights of the last reading."""

    def __init__(self, config: Any, size: int):
        self.config, self.cards, self.weights = config, [], [1.0] + [0.0] * (size - 1)

    def step(self, emitted: np.ndarray, writing: bool) -> np.ndarray:
        parts, width = Parts(emitted), self.config.memory_width
        query, key = parts.vector(self.config.key_size), parts.vector(self.config.key_size)
        strength, vector = parts.number(), np.tanh(parts.vector(width))
        weights = [0.0] * len(self.weights)
        if self.cards:
            scores = [float(query @ card[0]) + math.log(card[2]) for card in self.cards]
            weights[: len(scores)] = softmax(scores)
        if self.config.tape:
            gate, (back, stay, on) = float(sigmoid(parts.number())), softmax(list(parts.vector(3)))
            moved = [0.0] * len(weights)
            last = max(len(self.cards) - 1, 0)
            for place, weight in enumerate(self.weights):
                moved[max(place - 1, 0)] += back * weight
                moved[place] += stay * weight
                moved[place if place == last else (place + 1) % len(moved)] += on * weight
            weights = [gate * one + (1 - gate) * other for one, other in zip(weights, moved, strict=True)]
            self.weights = weights
        reading = np.zeros(width)
        for weight, card in zip(weights, self.cards, strict=False):
            reading = reading + weight * card[1]
        if writing:
            self.cards.append((key, vector, float(sigmoid(strength))))
        return reading


class SlowNtm:
    """Section 3 of Graves et al."""

    def __init__(self, config: Any, size: int):
        self.config = config
        self.cells = [np.full(config.memory_width, 1e-6) for _ in range(size)]
        self.places = {name: [1.0] + [0.0] * (size - 1) for name in ("read", "write")}

    def step(self, emitted: np.ndarray, writing: bool) -> np.ndarray:
        parts, width = Parts(emitted), self.config.memory_width
        for name in ("read", "write"):
            self.places[name] = self._address(parts, self.places[name])
        erase, add = sigmoid(parts.vector(width)), np.tanh(parts.vector(width))
        reading = np.zeros(width)
        for weight, cell in zip(self.places["read"], self.cells, strict=True):
            reading = reading + weight * cell
        for index, weight in enumerate(self.places["write"]):
            self.cells[index] = self.cells[index] * (1 - weight * erase) + weight * add
        return reading

    def _address(self, parts: Parts, before: list[float]) -> list[float]:
        key, strength, gate = parts.vector(self.config.memory_width), softplus(parts.number()), sigmoid(parts.number())
        back, stay, on = softmax(list(parts.vector(3)))
        power = 1 + softplus(parts.number())
        scores = [strength * float(key @ c) / math.sqrt(float(key @ key) * float(c @ c) + 1e-8) for c in self.cells]
        mixed = [gate * one + (1 - gate) * other for one, other in zip(softmax(scores), before, strict=True)]
        size = len(mixed)
        moved = [stay * mixed[i] + on * mixed[i - 1] + back * mixed[(i + 1) % size] for i in range(size)]
        sharp = [one**power for one in moved]
        return [one / sum(sharp) for one in sharp]


class SlowTape:
    """Tapes as lists: cell 0 is below the head."""

    def __init__(self, config: Any, size: int):
        self.config, self.length = config, size
        self.cells = [np.zeros(config.memory_width) for _ in range(2 * size + 1)]

    def step(self, emitted: np.ndarray, writing: bool) -> np.ndarray:
        parts = Parts(emitted)
        written = [parts.vector(self.config.memory_width), *self.cells[1:]]
        moves = [0, -1, 1, -self.length, self.length][: 5 if self.config.jumps else 3]
        shares = softmax(list(parts.vector(len(moves))))
        size = len(written)
        self.cells = [
            sum(share * written[(i + move) % size] for share, move in zip(shares, moves, strict=True))
            for i in range(size)
        ]
        return self.cells[0]


def run_slowly(model: Any, memory: Any, symbols: np.ndarray, writes: int) -> np.ndarray:
    """The controller's output at every step of one problem."""
    start = {name: np.asarray(value, float) for name, value in model.start.items()}
    hidden, cell, reading = start["hidden"], start["cell"], start["reading"]
    embedding, recurrent = np.asarray(model.embedding, float), np.asarray(model.recurrent, float)
    inputs, heads = model.inputs, model.heads
    outputs = []
    for at, symbol in enumerate(symbols):
        z = embedding[symbol] @ np.asarray(inputs.weight, float) + np.asarray(inputs.bias, float)
        z = z + np.concatenate([reading, hidden]) @ recurrent
        i, f, o, g = np.split(z, 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        hidden = sigmoid(o) * np.tanh(cell)
        emitted = hidden @ np.asarray(heads.weight, float) + np.asarray(heads.bias, float)
        reading = memory.step(emitted, at < writes)
        outputs.append(hidden)
    return np.array(outputs)


def transform_slowly(model: Any, symbols: np.ndarray) -> np.ndarray:
    """A transformer on one problem: every head at every position looks at every position before it."""
    config, size = model.config, model.config.cells // model.config.heads

    def linear(layer: Any, x: np.ndarray) -> np.ndarray:
        return x @ np.asarray(layer.weight, float) + np.asarray(layer.bias, float)

    def norm(layer: Any, x: np.ndarray) -> np.ndarray:
        scaled = (x - x.mean()) / math.sqrt(x.var() + 1e-5)
        return np.asarray(layer.scale, float) * scaled + np.asarray(layer.offset, float)

    def turned(x: np.ndarray, position: int) -> np.ndarray:
        turned, half = x.copy(), size // 2
        for i in range(half):
            number = complex(x[i], x[i + half]) * np.exp(1j * position * 10_000 ** (-i / half))
            turned[i], turned[i + half] = number.real, number.imag
        return turned

    def gelu(x: np.ndarray) -> np.ndarray:  # by tanh, as JAX has it
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    rows = [linear(model.inputs, np.asarray(model.embedding, float)[symbol]) for symbol in symbols]
    for block in model.blocks:
        projected = [linear(block.projections, norm(block.attention_norm, x)).reshape(3, -1, size) for x in rows]
        after = []
        for at, x in enumerate(rows):
            attended = []
            for head in range(config.heads):
                number, seen, scores = head + 1, [], []
                for other in range(at + 1):
                    if config.positions == "hard-alibi" and number <= config.heads // 2 and at - other >= number:
                        continue
                    query, key = projected[at][0, head], projected[other][1, head]
                    if config.positions == "rope":
                        query, key = turned(query, at), turned(key, other)
                    slope = 2 ** (-8 * number / config.heads) if config.positions == "alibi" else 0
                    seen.append(projected[other][2, head])
                    scores.append(float(query @ key) / math.sqrt(size) - slope * (at - other))
                weights = softmax(scores)
                attended.append(sum(weight * value for weight, value in zip(weights, seen, strict=True)))
            x = x + linear(block.attended, np.concatenate(attended))
            after.append(x + linear(block.narrow, gelu(linear(block.widen, norm(block.feedforward_norm, x)))))
        rows = after
    return np.array([norm(model.norm, x) for x in rows])
