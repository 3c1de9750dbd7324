"""The six kinds of Python programs that machines execute, as templates that generate, parse and evaluate them.

The same templates generate and parse programs, so every generated program can be parsed. Text from a user is matched
with the templates token by token, and never executed.
"""

import itertools
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from lantm.errors import LantmError

MOST_DIGITS = 7
"""The maximum number of digits of an operand: then the answers of loops fit into 32 bits."""

VARIABLES = "abcdefghij"
LONGEST_PROGRAM = 1000  # maximum characters of a typed program, including blanks

# Loop counts and small factors are at most this many times the number of digits.
SMALL = 4


class Template(NamedTuple):
    """One form of a kind of program.

    In `text`, `{a}` to `{d}` are operands, `{n}` is a small number and `{v}` a variable; `;` ends a line. `value`
    computes the result from these numbers, which may be integers or arrays of integers.
    """

    kind: str
    text: str
    value: Callable[..., Any]

    @property
    def slots(self) -> list[str]:
        """The names of the slots, in order."""
        return re.findall(r"\{(\w)\}", self.text)

    @property
    def literals(self) -> list[str]:
        """The text around the slots: one part more than there are slots."""
        return re.split(r"\{\w\}", self.text)


TEMPLATES = (
    Template("identity", "print({a})", lambda a, **_: a),
    Template("multiplication", "print(({a}*{n}))", lambda a, n, **_: a * n),
    Template("multiplication", "print(({n}*{a}))", lambda a, n, **_: a * n),
    Template("if", "print(({a} if {b}>{c} else {d}))", lambda a, b, c, d, **_: (b > c) * a + (b <= c) * d),
    Template("if", "print(({a} if {b}<{c} else {d}))", lambda a, b, c, d, **_: (b < c) * a + (b >= c) * d),
    Template("substitution", "{v}={a};print(({v}+{b}))", lambda a, b, **_: a + b),
    Template("substitution", "{v}={a};print(({v}-{b}))", lambda a, b, **_: a - b),
    Template("addition", "print(({a}+{b}))", lambda a, b, **_: a + b),
    Template("addition", "print(({a}-{b}))", lambda a, b, **_: a - b),
    Template("loop", "{v}={a};for x in range({n}):{v}+={b};print({v})", lambda a, b, n, **_: a + n * b),
    Template("loop", "{v}={a};for x in range({n}):{v}-={b};print({v})", lambda a, b, n, **_: a - n * b),
)
"""The kinds of the paper's table of examples, as Zaremba and Sutskever (2014) draw them."""

KINDS = tuple(dict.fromkeys(template.kind for template in TEMPLATES))

ALPHABET = "0123456789" + "()*+-<=>:; " + "".join(sorted({*VARIABLES, *"printifelseforxinrange"}))
"""Every character of a program. With the two markers of the input and the `.` that ends an answer there are 42 symbols,
the vocabulary that the paper's parameter counts require."""


def largest(digits: int) -> dict[str, int]:
    """The largest value of each slot, for operands of this many digits; the smallest is 1."""
    return {**dict.fromkeys("abcd", 10**digits - 1), "n": SMALL * digits}


def longest_text(template: Template, digits: int) -> int:
    """The number of characters of the longest program."""
    return len(template.text.format(**largest(digits), v="a"))


def longest_answer(template: Template, digits: int) -> int:
    """The number of characters of the longest answer, without its end; values are monotone, so corners suffice."""
    names, most = zip(*largest(digits).items(), strict=True)
    corners = itertools.product(*((1, number) for number in most))
    return max(len(str(int(template.value(**dict(zip(names, corner, strict=True)))))) for corner in corners)


class Program(NamedTuple):
    """A parsed program."""

    template: Template
    filling: Mapping[str, str]

    @property
    def text(self) -> str:
        """The text that the machine reads: without extra blanks, with lines ended by `;`."""
        return self.template.text.format(**self.filling)

    @property
    def answer(self) -> int:
        """What Python would print."""
        return int(self.template.value(**{name: int(text) for name, text in self.filling.items() if name != "v"}))


def understand(text: str, kinds: tuple[str, ...] = KINDS) -> Program:
    """Parses a program; raises a `LantmError` that says where the text leaves the grammar.

    Blanks are ignored, lines end at `;` or a line break, and `print(1+2)` is the same as `print((1+2))`.

    >>> understand("print((14 * 5608))").answer
    78512
    """
    if len(text) > LONGEST_PROGRAM:
        raise LantmError(f"programs have up to {LONGEST_PROGRAM:,} characters, not {len(text):,}: shorten the text")
    tokens = _with_parentheses(_tokens(text))
    if not tokens:
        raise LantmError("there is no program: write one such as print((5*123))")
    furthest, expected = 0, dict[str, None]()
    for template in TEMPLATES:
        if template.kind not in kinds:
            continue
        filling: dict[str, str] = {}
        wanted = [*_tokens(template.text), ""]
        for at, (want, token) in enumerate(zip(wanted, [*tokens, ""], strict=False)):
            if _fits(want, token, filling):
                continue
            if at >= furthest:
                expected = dict[str, None]() if at > furthest else expected
                furthest = at
                expected[_description(want, filling)] = None
            break
        else:
            return Program(template, filling)
    before, found = _joined(tokens[:furthest]), (*tokens, "")[furthest]
    where = f"after {reprlib.repr(before)}" if before else "at the start"
    what = f"{reprlib.repr(found)} {where}" if found else f"an end {where}"
    raise LantmError(
        f"a program cannot have {what}: expected {' or '.join(expected)}; the kinds are {', '.join(kinds)}, as in "
        f"{_example(kinds[0])}"
    )


_TOKEN = re.compile(r"\{\w\}|[0-9]+|[A-Za-z_][A-Za-z_0-9]*|[-+]=|\n|\S")


def _tokens(text: str) -> list[str]:
    """Numbers, words and signs; a line break becomes `;`, except after a colon."""
    found = _TOKEN.findall(text.strip().removesuffix(";"))
    tokens: list[str] = []
    for token in found:
        if token == "\n":
            if tokens and tokens[-1] in (":", ";"):
                continue
            token = ";"
        tokens.append(token)
    return tokens


def _with_parentheses(tokens: list[str]) -> list[str]:
    """The tokens of `print((1+2))` if given those of `print(1+2)`, otherwise unchanged."""
    at = tokens.index("print") if "print" in tokens else len(tokens)
    inside = tokens[at + 2 : -1]
    if tokens[at + 1 : at + 2] == ["("] and tokens[-1] == ")" and len(inside) > 1 and inside[0] != "(":
        return [*tokens[: at + 2], "(", *inside, ")", ")"]
    return tokens


def _fits(want: str, token: str, filling: dict[str, str]) -> bool:
    """Whether a token matches a template token; a slot is filled, and must have the same value when it is repeated."""
    if not want.startswith("{"):
        return want == token
    name = want[1]
    if name == "v":
        fits = len(token) == 1 and token in VARIABLES
    else:
        number = re.fullmatch(rf"0|[1-9][0-9]{{0,{MOST_DIGITS - 1}}}", token)
        fits = number is not None and int(token) <= largest(MOST_DIGITS)[name]
    return fits and filling.setdefault(name, token) == token


def _description(want: str, filling: Mapping[str, str]) -> str:
    if not want:
        return "the end"
    if want == "{v}":
        return repr(filling["v"]) if "v" in filling else f"a variable {VARIABLES[0]} to {VARIABLES[-1]}"
    if want == "{n}":
        return f"a number up to {SMALL * MOST_DIGITS}"
    return f"a number of 1 to {MOST_DIGITS} digits" if want.startswith("{") else repr(want)


def _joined(tokens: list[str]) -> str:
    """Tokens as text, with blanks between words."""
    text = "".join(f" {token} " if token.isidentifier() else token for token in tokens)
    return re.sub(r" ?(?<=\W) | (?=\W) ?", "", " ".join(text.split()))


def _example(kind: str) -> str:
    filling = {"a": 4242, "b": 8302, "c": 6721, "d": 3716, "n": 14, "v": "f"}
    return next(template.text.format(**filling) for template in TEMPLATES if template.kind == kind)


def choices(kinds: tuple[str, ...]) -> Iterator[int]:
    """Indices of templates, repeated so that a uniform draw gives all kinds, and all forms of a kind, equal
    probability."""
    for kind in kinds:
        forms = [number for number, template in enumerate(TEMPLATES) if template.kind == kind]
        yield from forms * (2 // len(forms))
