"""Linear layers and LSTM matrices, with their initialisation."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray


class Linear(eqx.Module):
    """x W + b, initialised uniformly in +-1/sqrt(inputs), or in +-`weight_range`."""

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"]

    def __init__(self, inputs: int, outputs: int, key: PRNGKeyArray, weight_range: float | None = None):
        weight_key, bias_key = jax.random.split(key)
        bound = inputs**-0.5 if weight_range is None else weight_range
        self.weight = jax.random.uniform(weight_key, (inputs, outputs), minval=-bound, maxval=bound)
        self.bias = jax.random.uniform(bias_key, (outputs,), minval=-bound, maxval=bound)

    def __call__(self, x: Float[Array, "*batch inputs"]) -> Float[Array, "*batch outputs"]:
        return x @ self.weight + self.bias


def lstm_matrices(
    inputs: int,
    recurrent: int,
    cells: int,
    key: PRNGKeyArray,
    weight_range: float | None,
    forget_bias: float | None,
) -> tuple[Linear, Float[Array, "{recurrent} 4*{cells}"]]:
    """The weights of an LSTM layer: input weights with bias, and recurrent weights.

    They are initialised uniformly in +-1/sqrt(all inputs of a cell), or in +-`weight_range`; `forget_bias` sets the
    initial biases of the forget gates.
    """
    input_key, recurrent_key = jax.random.split(key)
    bound = (inputs + recurrent) ** -0.5 if weight_range is None else weight_range
    linear = Linear(inputs, 4 * cells, input_key, bound)
    if forget_bias is not None:
        bias = linear.bias.at[cells : 2 * cells].set(forget_bias)
        linear = eqx.tree_at(lambda layer: layer.bias, linear, bias)
    return linear, jax.random.uniform(recurrent_key, (recurrent, 4 * cells), minval=-bound, maxval=bound)
