"""The same machine in plain PyTorch, as a researcher would write it: the alternative that ours is timed against."""

import numpy as np
import torch
from torch import Tensor, nn

from lantm.machine import Lantm

EPSILON = 1e-9
WRITE_GATE_BIAS = -10.0


class TorchLantm(nn.Module):
    """LANTM-InvNorm on the plane under translation, one read head, one write head, the paper's two tweaks."""

    def __init__(self, machine: Lantm):
        """Takes the weights of ours."""
        super().__init__()
        controller = machine.layer.controller
        self.cells, self.width = machine.config.cells, machine.config.memory_width
        vocabulary, embedding = machine.embedding.shape
        self.embedding = nn.Embedding(vocabulary, embedding)
        self.cell = nn.LSTMCell(embedding + self.width, self.cells)
        self.heads = nn.Linear(self.cells, machine.layer.heads.bias.shape[0])
        self.readout = nn.Linear(self.cells, vocabulary)
        self.start = nn.ParameterDict(
            {
                "first_hidden": _parameter(controller.start.hidden),
                "first_cell": _parameter(controller.start.cell),
                "first_reading": _parameter(machine.layer.start.reading),
                "first_keys": _parameter(machine.layer.start.keys),
                "first_steps": _parameter(machine.layer.start.steps),
                "slot_key": _parameter(machine.layer.start.slot.key),
                "slot_vector": _parameter(machine.layer.start.slot.vector),
                "slot_strength": _parameter(machine.layer.start.slot.strength),
            }
        )
        self._load(machine)
        self.step = self.plain_step

    def _load(self, machine: Lantm) -> None:
        """PyTorch's LSTM cell orders its gates input, forget, candidate, output, and adds a second bias."""
        n, controller = self.cells, machine.layer.controller
        order = np.concatenate([np.arange(2 * n), np.arange(3 * n, 4 * n), np.arange(2 * n, 3 * n)])
        recurrent = np.asarray(controller.recurrent)
        inputs = np.concatenate([np.asarray(controller.inputs.weight), recurrent[: self.width]])
        with torch.no_grad():
            self.embedding.weight.copy_(_tensor(machine.embedding))
            self.cell.weight_ih.copy_(_tensor(inputs[:, order].T))
            self.cell.weight_hh.copy_(_tensor(recurrent[self.width :, order].T))
            self.cell.bias_ih.copy_(_tensor(np.asarray(controller.inputs.bias)[order]))
            self.cell.bias_hh.zero_()
            for ours, theirs in ((machine.layer.heads, self.heads), (machine.readout, self.readout)):
                theirs.weight.copy_(_tensor(np.asarray(ours.weight).T))
                theirs.bias.copy_(_tensor(ours.bias))

    def plain_step(
        self,
        symbol: Tensor,
        hidden: Tensor,
        cell: Tensor,
        reading: Tensor,
        keys: Tensor,
        steps: Tensor,
        addresses: Tensor,
        vectors: Tensor,
        strengths: Tensor,
    ) -> tuple[Tensor, ...]:
        """One step: the new state, and what would be written."""
        hidden, cell = self.cell(torch.cat([symbol, reading], dim=-1), (hidden, cell))
        said = self.heads(hidden)
        candidate_keys, key_gates, candidate_steps, step_gates, vector, strength = torch.split(
            said, [4, 2, 4, 2, self.width, 1], dim=-1
        )
        bias = said.new_tensor([0.0, WRITE_GATE_BIAS])
        candidate_steps = candidate_steps.view(-1, 2, 2)
        candidate_steps = candidate_steps / torch.sqrt((candidate_steps**2).sum(-1, keepdim=True) + 1e-6)
        step_gates = torch.sigmoid(step_gates + bias).unsqueeze(-1)
        key_gates = torch.sigmoid(key_gates + bias).unsqueeze(-1)
        steps = step_gates * candidate_steps + (1 - step_gates) * steps
        keys = key_gates * candidate_keys.view(-1, 2, 2) + (1 - key_gates) * keys + steps
        squared = ((keys[:, :1] - addresses) ** 2).sum(-1)
        inverse = 1 / (squared + EPSILON)
        weights = strengths * inverse / inverse.sum(-1, keepdim=True)
        reading = (weights.unsqueeze(1) @ vectors).squeeze(1)
        return hidden, cell, reading, keys, steps, torch.tanh(vector), torch.sigmoid(strength)

    def forward(self, inputs: Tensor, writes: int) -> Tensor:
        """Logits of every step for symbols of shape (time, batch); the first `writes` steps write."""
        batch = inputs.shape[1]
        start = self.start
        hidden = start["first_hidden"].expand(batch, -1)
        cell = start["first_cell"].expand(batch, -1)
        reading = torch.tanh(start["first_reading"]).expand(batch, -1)
        keys = start["first_keys"].expand(batch, -1, -1)
        steps = start["first_steps"].expand(batch, -1, -1)
        addresses = start["slot_key"].expand(batch, 1, -1)
        vectors = torch.tanh(start["slot_vector"]).expand(batch, 1, -1)
        strengths = torch.sigmoid(start["slot_strength"] - 10).expand(batch, 1)
        outputs = []
        for time, symbol in enumerate(self.embedding(inputs)):
            hidden, cell, reading, keys, steps, vector, strength = self.step(
                symbol, hidden, cell, reading, keys, steps, addresses, vectors, strengths
            )
            if time < writes:
                addresses = torch.cat([addresses, keys[:, 1:]], dim=1)
                vectors = torch.cat([vectors, vector.unsqueeze(1)], dim=1)
                strengths = torch.cat([strengths, strength], dim=1)
            outputs.append(hidden)
        return self.readout(torch.stack(outputs))


def _tensor(array: object) -> Tensor:
    return torch.from_numpy(np.array(array, dtype=np.float32))


def _parameter(array: object) -> nn.Parameter:
    return nn.Parameter(_tensor(array))
