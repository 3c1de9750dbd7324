"""Prints JAX functions of scalars as C functions: the formulas of heads, gates and weightings.

Geometries and weightings are written in JAX, for arrays. The kernels need the same formulas for scalars, with their
derivatives. To avoid writing them twice, a JAX function is traced with scalars (`lantm.machine.kernel.coordinates`),
and its operations are printed as the body of a C function.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from lantm.machine.kernel.coordinates import CannotSplitError

Argument = tuple[str, int | None]
"""An argument or result of a C function: its name and its array size; None means a scalar."""


def c_function(
    name: str, function: Callable[..., Any], arguments: Sequence[Argument], results: Sequence[Argument], dtype: Any
) -> str:
    """The C function for a JAX function of scalars and lists of scalars (for arrays).

    A function with a single scalar result returns it; all others write to pointers.

    >>> print(c_function("twice", lambda x: 2 * x, [("x", None)], [("y", None)], jnp.float32))
    __device__ inline real twice(real x) {
      const real v0 = real(2.0) * x;
      return v0;
    }
    """
    number = jax.ShapeDtypeStruct((), dtype)
    given = [number if size is None else [number] * size for _, size in arguments]
    program = jax.make_jaxpr(function)(*given)
    names = [one for argument in arguments for one in _elements(*argument)]
    lines = _Printer(program, names)
    returned = len(results) == 1 and results[0][1] is None
    parameters = [f"real {name}" if size is None else f"const real* {name}" for name, size in arguments]
    found = lines.results
    if returned:
        ending = [f"return {found[0]};"]
    else:
        parameters += [f"real* {name}" for name, _ in results]
        places = [place for name, size in results for place in _elements(name, 1 if size is None else size)]
        ending = [f"{place} = {value};" for place, value in zip(places, found, strict=True)]
    head = f"__device__ inline {'real' if returned else 'void'} {name}({', '.join(parameters)}) {{"
    return "\n".join([head, *(f"  {line}" for line in (*lines.body, *ending)), "}"])


def _elements(name: str, size: int | None) -> list[str]:
    return [name] if size is None else [f"{name}[{at}]" for at in range(size)]


class _Printer:
    """Prints the equations of a program that its results depend on, as one constant each."""

    def __init__(self, program: ClosedJaxpr, names: Sequence[str]):
        self._count = 0
        self._printed: list[tuple[str, str, str, list[str]]] = []  # name, type, expression, dependencies
        self.results = self._inline(program, list(names))
        self.body = self._needed()

    def _inline(self, program: ClosedJaxpr, arguments: list[str]) -> list[str]:
        known = dict(zip(program.jaxpr.invars, arguments, strict=True))
        known |= {
            variable: _literal(value) for variable, value in zip(program.jaxpr.constvars, program.consts, strict=True)
        }

        def value(atom: Any) -> str:
            return _literal(atom.val) if isinstance(atom, Literal) else known[atom]

        equations: Any = program.jaxpr.eqns  # from JAX 0.12 on, the types of variables lack shapes
        for equation in equations:
            given = [value(atom) for atom in equation.invars]
            inner = equation.params.get("jaxpr") or equation.params.get("call_jaxpr")
            assert all(variable.aval.size == 1 for variable in equation.outvars)
            if inner is not None:
                inner = inner if isinstance(inner, ClosedJaxpr) else ClosedJaxpr(inner, ())
                found = self._inline(inner, given)
            else:
                expression = _expression(equation.primitive.name, equation.params, given)
                found = [self._named(expression, _type(equation.outvars[0].aval.dtype), given)]
            known |= dict(zip(equation.outvars, found, strict=True))
        return [value(atom) for atom in program.jaxpr.outvars]

    def _named(self, expression: str, kind: str, given: list[str]) -> str:
        if expression in given:  # one of the arguments
            return expression
        name = f"v{self._count}"
        self._count += 1
        self._printed.append((name, kind, expression, given))
        return name

    def _needed(self) -> list[str]:
        """The printed statements that the results depend on."""
        needed, kept = set(self.results), []
        for name, kind, expression, given in reversed(self._printed):
            if name in needed:
                needed.update(given)
                kept.append(f"const {kind} {name} = {expression};")
        return kept[::-1]


def _type(dtype: Any) -> str:
    if jnp.issubdtype(dtype, jnp.floating):
        return "real"
    return "bool" if dtype == jnp.bool_ else "int"


def _literal(value: Any) -> str:
    value = np.asarray(value)
    if value.dtype == np.bool_:
        return "true" if value else "false"
    if np.issubdtype(value.dtype, np.integer):
        return str(int(value))
    number = float(value)
    if math.isinf(number):
        return "INFINITY" if number > 0 else "(-INFINITY)"
    return f"real({number!r})"


# By the name of a JAX primitive, with its operands as {0}, {1}, ...
_EXPRESSIONS = {
    **{name: f"{{0}} {sign} {{1}}" for name, sign in {"add": "+", "sub": "-", "mul": "*"}.items()},
    **{
        name: f"{{0}} {sign} {{1}}"
        for name, sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items()
    },
    **{
        name: f"{name}({{0}})"
        for name in ("exp", "exp2", "log", "log1p", "expm1", "tanh", "sin", "cos", "sqrt", "rsqrt")
    },
    "div": "divide({0}, {1})",
    "add_any": "{0} + {1}",
    "neg": "-{0}",
    "abs": "fabs({0})",
    "sign": "({0} > 0) - ({0} < 0)",
    "square": "{0} * {0}",
    "one_minus_square": "1 - {0} * {0}",
    "max": "larger({0}, {1})",
    "min": "smaller({0}, {1})",
    "clamp": "smaller(larger({1}, {0}), {2})",
    "logistic": "divide(1, 1 + exp(-{0}))",
    "pow": "pow({0}, {1})",
    "atan2": "atan2({0}, {1})",
    "and": "{0} && {1}",
    "or": "{0} || {1}",
    "not": "!{0}",
    "is_finite": "fabs({0}) < INFINITY",
    "select_n": "{0} ? {2} : {1}",
}
# All arrays have one element here, so these do nothing.
_UNCHANGED = frozenset({"copy", "stop_gradient", "broadcast_in_dim", "reshape", "squeeze", "reduce_sum", "pvary"})


def _expression(name: str, params: dict[str, Any], given: list[str]) -> str:
    if name in _UNCHANGED:
        return given[0]
    if name == "convert_element_type":
        return f"{_type(params['new_dtype'])}({given[0]})"
    if name == "integer_pow":
        power = " * ".join([given[0]] * abs(params["y"])) or "real(1)"
        return power if params["y"] >= 0 else f"divide(1, {power})"
    if name not in _EXPRESSIONS:
        raise CannotSplitError(name)
    return _EXPRESSIONS[name].format(*given)
