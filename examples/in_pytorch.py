"""The machines of the zoo in PyTorch: this one file reads their weights and answers as they do. It needs no lantm.

    python examples/in_pytorch.py copy-lantm-invnorm.safetensors "hello, world"

The format is in docs/format.md. Machines in the plane with InvNorm or SoftMax and LSTMs are read, which are all of the
zoo; docs/machine.md has the equations. One problem at a time, and as plain as it can be.
"""

import itertools
import json
import sys
from collections.abc import Iterator

import torch
from safetensors import safe_open
from torch import Tensor, nn
from torch.nn.functional import softplus


def load(path: str) -> "Machine":
    """The machine in a file."""
    with safe_open(path, framework="pt") as file:
        settings = json.loads(file.metadata()["notes"])["experiment"]
        weights = {short(name): file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no mapping)
    kind = StackedLstm if settings["model"] == "lstm" else LieAccess
    marks = 10 if settings["task"] in ("addition", "double") else weights["embedding"].shape[0] - 3
    return kind(DEFAULTS | settings["machine"], weights, marks)


# What older files do not name.
DEFAULTS = {
    "settle_reads": False,
    "write_end": False,
    "cell_bound": None,
    "controller_overshoot": 0.0,
    "settle_cells": 0.0,
    "interpolate_read_actions": True,
}


def short(name: str) -> str:
    """The name of an array without the layer that it is in, as older files have it."""
    for long, shorter in (("layer.controller.inputs.", "symbols."), ("layer.controller.", ""), ("layer.", "")):
        if name.startswith(long):
            return shorter + name.removeprefix(long)
    return name


def opened(raw: Tensor, overshoot: float = 0.0) -> Tensor:
    """A gate: a sigmoid, stretched by the overshoot and cut off at 0 and 1."""
    return ((1 + 2 * overshoot) * torch.sigmoid(raw) - overshoot).clamp(0, 1)


class Machine(nn.Module):
    """A machine by its settings and its weights; three symbols are marks: the start, the end of input and of output."""

    def __init__(self, settings: dict, weights: dict[str, Tensor], marks: int):
        super().__init__()
        self.settings, self.marks = settings, marks
        for name, value in weights.items():
            self.register_parameter(name.replace(".", "_"), nn.Parameter(value))

    @torch.no_grad()
    def answer(self, symbols: list[int], longest: int = 1000) -> list[int]:
        """The symbols of the answer, without the mark of its end, and at most so many."""
        start, end_of_input, end_of_output = range(self.marks, self.marks + 3)
        given = [start, *symbols]
        logits = self.steps(itertools.chain(given, itertools.repeat(end_of_input)), len(given))
        told = (int(one.argmax()) for one in itertools.islice(logits, len(given), len(given) + longest))
        return list(itertools.takewhile(lambda symbol: symbol != end_of_output, told))

    def steps(self, symbols: Iterator[int], writes: int) -> Iterator[Tensor]:
        """The logits after each of the symbols; those of the first `writes` are the input."""
        raise NotImplementedError

    def cells(self, raw: Tensor, cell: Tensor, overshoot: float = 0.0) -> Tensor:
        """What an LSTM's cells become: input gate, forget gate, output gate and candidate lie side by side."""
        entering, kept, _, candidate = raw.chunk(4)
        return opened(kept, overshoot) * cell + opened(entering, overshoot) * torch.tanh(candidate)


class StackedLstm(Machine):
    """The baseline: layers of LSTMs."""

    def steps(self, symbols: Iterator[int], writes: int) -> Iterator[Tensor]:
        hidden, cell = list(self.start_hidden), list(self.start_cell)
        for symbol in symbols:
            below = self.embedding[symbol]
            for at in range(self.settings["layers"]):
                inputs, bias, recurrent = (
                    getattr(self, f"layers_{at}_{name}") for name in ("inputs_weight", "inputs_bias", "recurrent")
                )
                raw = below @ inputs + bias + hidden[at] @ recurrent
                cell[at] = self.cells(raw, cell[at])
                below = hidden[at] = torch.sigmoid(raw.chunk(4)[2]) * torch.tanh(cell[at])
            yield below @ self.readout_weight + self.readout_bias


class LieAccess(Machine):
    """A machine whose heads move in a plane, by translations."""

    def __init__(self, settings: dict, weights: dict[str, Tensor], marks: int):
        super().__init__(settings, weights, marks)
        if settings["geometry"] != "translation" or settings["weighting"] not in ("invnorm", "softmax"):
            raise ValueError(f"this file has no {settings['geometry']} and no {settings['weighting']}")
        if settings["memory_limit"] is not None:
            raise ValueError("this file has no memory that forgets")

    def steps(self, symbols: Iterator[int], writes: int) -> Iterator[Tensor]:
        its, reads = self.settings, self.settings["read_heads"]
        hidden, cell = self.start_hidden, self.start_cell
        reading, keys, moves = torch.tanh(self.start_reading), self.start_keys, self.start_steps
        addresses, vectors, strengths = [], [], []
        if its["initial_slot"]:
            addresses.append(self.start_slot_key)
            vectors.append(torch.tanh(self.start_slot_vector))
            strengths.append(torch.sigmoid(self.start_slot_strength - 10))
        for step, symbol in enumerate(symbols):
            # The controller: an LSTM that sees the symbol and the last reading.
            raw = self.embedding[symbol] @ self.symbols_weight + self.symbols_bias
            raw = raw + torch.cat([reading, hidden]) @ self.recurrent
            cell = self.settled(self.cells(raw, cell, its["controller_overshoot"]))
            hidden = opened(raw.chunk(4)[2], its["controller_overshoot"]) * torch.tanh(cell)
            yield hidden @ self.readout_weight + self.readout_bias
            # The heads: a gate says whether to jump to a new key, another whether to take a new step.
            to = self.told(hidden @ self.heads_weight + self.heads_bias)
            moves = to["move_gates"] * to["moves"] + (1 - to["move_gates"]) * moves
            keys = to["key_gates"] * to["keys"] + (1 - to["key_gates"]) * keys + moves
            before = len(addresses)
            if step < writes + its["write_end"]:
                addresses += keys[reads:].unbind()
                vectors += to["vectors"].unbind()
                strengths += to["strengths"].unbind()
            seen = len(addresses) if its["read_sees_write"] else before
            reading = torch.zeros_like(reading)
            if seen:
                distances = (keys[:reads, None] - torch.stack(addresses[:seen])).square().sum(-1)
                weights = self.shares(distances, to["temperatures"]) * torch.stack(strengths[:seen])
                reading = (weights @ torch.stack(vectors[:seen])).flatten()
            if its["settle_reads"] and len(addresses) > 1:
                keys = torch.cat([self.settled_on(keys[:reads], torch.stack(addresses)), keys[reads:]])

    def told(self, emission: Tensor) -> dict[str, Tensor]:
        """What the controller tells the heads, read heads first."""
        its = self.settings
        reads, writes, width = its["read_heads"], its["write_heads"], its["memory_width"]
        heads, bias, tied = reads + writes, its["write_gate_bias"], its["tied_read_heads"]
        temperatures = reads if its["weighting"] == "softmax" else 0
        sizes = [2 * heads, heads, 2 * heads, heads, writes * width, writes, temperatures]
        keys, key_gates, moves, move_gates, vectors, strengths, temperature = emission.split(sizes)
        moves = moves.reshape(heads, 2)
        if its["normalise_steps"]:
            moves = moves * torch.rsqrt(moves.square().sum(-1, keepdim=True) + 1e-6)
        squash = torch.tanh if its["squash_vectors"] == "tanh" else torch.sigmoid
        key_bias = torch.tensor([bias] * tied + [0.0] * (reads - tied) + [bias] * writes)
        move_bias = torch.tensor([0.0] * reads + [bias] * writes)
        move_gates = opened(move_gates + move_bias, its["gate_overshoot"])
        # Heads whose actions are not interpolated always take the new one.
        if not its["interpolate_read_actions"]:
            move_gates[:reads] = 1
        if not its["interpolate_actions"]:
            move_gates[:] = 1
        return {
            "keys": keys.reshape(heads, 2),
            "key_gates": opened(key_gates + key_bias, its["gate_overshoot"])[:, None],
            "moves": moves,
            "move_gates": move_gates[:, None],
            "vectors": squash(vectors).reshape(writes, width),
            "strengths": torch.sigmoid(strengths),
            "temperatures": softplus(temperature)[:, None],
        }

    def shares(self, distances: Tensor, temperatures: Tensor) -> Tensor:
        """The share of every memory in a reading, from its squared distance."""
        if self.settings["weighting"] == "softmax":
            return torch.softmax(-distances / temperatures.clamp(min=1e-6), dim=-1)
        inverse = 1 / (distances + 1e-9)
        return inverse / inverse.sum(-1, keepdim=True)

    def settled_on(self, keys: Tensor, addresses: Tensor) -> Tensor:
        """Read heads after settling: on a memory that is three times nearer than any other."""
        near, which = (keys[:, None] - addresses).square().sum(-1).topk(2, largest=False)
        return torch.where((9 * near[:, :1] < near[:, 1:]), addresses[which[:, 0]], keys)

    def settled(self, cell: Tensor) -> Tensor:
        """Cells within their bound, moved to the nearest of - bound, 0 and + bound."""
        bound, most = self.settings["cell_bound"], self.settings["settle_cells"]
        if bound is None:
            return cell
        cell = cell.clamp(-bound, bound)
        nearest = bound * ((cell > bound / 2).to(cell) - (cell < -bound / 2).to(cell))
        return cell + (nearest - cell).clamp(-most, most)


if __name__ == "__main__":
    machine = load(sys.argv[1])
    # In tasks on text, the symbols are the characters from the blank on.
    print("".join(chr(32 + symbol) for symbol in machine.answer([ord(letter) - 32 for letter in sys.argv[2]])))
