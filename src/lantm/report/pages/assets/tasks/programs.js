// Short Python programs, as in lantm.tasks.grammar: parsed with the page's templates, never executed.

const MOST_DIGITS = 7;
const SMALL = 4; // loop counts and small factors are at most this many times the number of digits

/** What programs of a kind print; `sign` is the one of the template. */
const PRINTED = {
  identity: ({ a }) => a,
  multiplication: ({ a, n }) => a * n,
  if: ({ a, b, c, d }, sign) => ((sign === ">" ? b > c : b < c) ? a : d),
  substitution: ({ a, b }, sign) => (sign === "+" ? a + b : a - b),
  addition: ({ a, b }, sign) => (sign === "+" ? a + b : a - b),
  loop: ({ a, b, n }, sign) => (sign === "+" ? a + n * b : a - n * b),
};

/** Numbers, words and signs; a line break is a `;`, except after a colon. */
function programTokens(text) {
  const found = text.trim().replace(/;$/, "").match(/\{\w\}|[0-9]+|[A-Za-z_][A-Za-z_0-9]*|[-+]=|\n|\S/g) ?? [];
  const tokens = [];
  for (const token of found) {
    if (token === "\n" && [":", ";"].includes(tokens[tokens.length - 1])) continue;
    tokens.push(token === "\n" ? ";" : token);
  }
  return tokens;
}

/** `print(1+2)` is the same as `print((1+2))`. */
function withParentheses(tokens) {
  const at = tokens.indexOf("print");
  if (at < 0 || tokens[at + 1] !== "(" || tokens[tokens.length - 1] !== ")") return tokens;
  const inside = tokens.slice(at + 2, -1);
  return inside.length > 1 && inside[0] !== "(" ? [...tokens.slice(0, at + 2), "(", ...inside, ")", ")"] : tokens;
}

/** Whether a token is what a template wants; a slot that comes again has to have the same value. */
function fitsSlot(want, token, filling) {
  if (!want.startsWith("{")) return want === token;
  const name = want[1];
  if (name === "v" ? !/^[a-j]$/.test(token) : !/^(0|[1-9][0-9]{0,6})$/.test(token)) return false;
  if (name === "n" && Number(token) > SMALL * MOST_DIGITS) return false;
  filling[name] ??= token;
  return filling[name] === token;
}

const filledTemplate = (template, filling) => template.replace(/\{(\w)\}/g, (_, name) => filling[name]);

const programs = {
  example: "print((14*5608))",
  hint: "Type a short program",
  order: () => "The machine answers with the last digit first.",
  read(text, { symbols, templates }) {
    const tokens = withParentheses(programTokens(text));
    for (const [kind, template] of templates) {
      const [wanted, filling] = [programTokens(template), {}];
      if (wanted.length !== tokens.length || !wanted.every((want, at) => fitsSlot(want, tokens[at], filling))) continue;
      const numbers = Object.fromEntries(Object.entries(filling).map(([name, value]) => [name, Number(value)]));
      const [sign] = template.match(/[-+<>]/) ?? [""];
      const printed = String(PRINTED[kind](numbers, sign));
      const symbolsOf = (characters) => Array.from(characters, (character) => symbols.indexOf(character));
      return { input: symbolsOf(filledTemplate(template, filling)), answer: symbolsOf(printed).reverse() };
    }
    const kinds = [...new Map(templates).values()].map((template) => filledTemplate(template, programs.filling));
    throw new Error(`this is none of the programs that were learnt: ${kinds.join("   ")}`);
  },
  filling: { a: "4242", b: "8302", c: "6721", d: "3716", n: "14", v: "f" },
  write: (input, { symbols }) => input.map((symbol) => symbols[symbol]).join(""),
  draw(length, { templates }, random) {
    const among = (count) => Math.floor(random() * count);
    const number = () => String(1 + among(10 ** length - 1));
    const filling = { a: number(), b: number(), c: number(), d: number() };
    Object.assign(filling, { n: String(1 + among(SMALL * length)), v: "abcdefghij"[among(10)] });
    return filledTemplate(templates[among(templates.length)][1], filling);
  },
};
