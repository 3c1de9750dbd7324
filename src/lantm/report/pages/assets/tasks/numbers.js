// Tasks on decimal numbers, as in lantm.tasks.arithmetic. Digits are least significant first, unless `about.highestFirst`
// is set.

/** The digits of a number, the last first. */
function digitsOf(text, about) {
  const digits = text.trim();
  if (!digits) throw new Error(`${about.name} needs a number where there is none: write it as ${TASKS[about.name].example}`);
  if (!/^[0-9]+$/.test(digits)) throw new Error(`${about.name} takes digits 0 to 9, not “${shortened(digits)}”`);
  return Array.from(digits, Number).reverse();
}

function shortened(text) {
  return text.length > 24 ? `${text.slice(0, 23)}…` : text;
}

/** The digits of a sum, one more than the numbers have. */
function sumOf(one, other) {
  let carry = 0;
  return [...one, 0].map((digit, at) => {
    const total = digit + (other[at] ?? 0) + carry;
    carry = total > 9 ? 1 : 0;
    return total % 10;
  });
}

function drawnNumber(length, random) {
  return Array.from({ length }, () => Math.floor(random() * 10)).join("");
}

const double = {
  example: "829",
  hint: "Type a number",
  order: (about) =>
    `Digits stand in the order in which the machine sees them: the ${about.highestFirst ? "first" : "last"} digit first.`,
  read(text, about) {
    const digits = digitsOf(text, about);
    const numbers = { input: digits, answer: sumOf(digits, digits) };
    if (about.highestFirst) Object.values(numbers).forEach((number) => number.reverse());
    return numbers;
  },
  write: (input, about) => (about.highestFirst ? input : [...input].reverse()).join(""),
  draw: (length, about, random) => drawnNumber(length, random),
};

const addition = {
  example: "423 + 94",
  hint: "Type two numbers with a plus between them",
  order: () =>
    "Digits stand in the order in which the machine sees them: the last digits first, of the second number and of the " +
    "first in turn. Those of the first number are underlined.",
  underlined: (place) => place % 2 === 1,
  read(text, about) {
    const parts = text.split("+");
    if (parts.length !== 2) throw new Error("addition needs two numbers: write them as 423 + 94");
    const [left, right] = parts.map((part) => digitsOf(part, about));
    const length = Math.max(left.length, right.length);
    const [first, second] = [left, right].map((digits) => [...digits, ...new Array(length - digits.length).fill(0)]);
    const input = second.flatMap((digit, at) => [digit, first[at]]);
    return { input, answer: sumOf(first, second) };
  },
  write(input) {
    const number = (parity) => input.filter((_, at) => at % 2 === parity).reverse().join("");
    return `${number(1)} + ${number(0)}`;
  },
  draw: (length, about, random) => `${drawnNumber(length, random)} + ${drawnNumber(length, random)}`,
};
