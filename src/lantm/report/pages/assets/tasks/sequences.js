// Tasks on sequences of characters, as in lantm.tasks.permutation.

/** A task that answers with the symbols of its input in another order. `about` is what the page says of the task. */
function permutation(example, reordered) {
  return {
    example,
    hint: "Type some characters",
    read(text, about) {
      const known = about.symbols.slice(0, about.dataSymbols);
      const symbols = Array.from(text, (character) => {
        const symbol = known.indexOf(character);
        if (symbol < 0) throw new Error(`${about.name} has no symbol for “${character}”`);
        return symbol;
      });
      return { input: symbols, answer: reordered(symbols) };
    },
    write: (input, about) => input.map((symbol) => about.symbols[symbol]).join(""),
    draw(length, about, random) {
      const typed = about.symbols.slice(0, about.dataSymbols).filter((name) => name.length === 1);
      return Array.from({ length }, () => typed[Math.floor(random() * typed.length)]).join("");
    },
  };
}

const copy = permutation("hello, world", (symbols) => [...symbols]);
const reverse = permutation("hello, world", (symbols) => [...symbols].reverse());
const bigramFlip = permutation("ehll,ow rodl", (symbols) => {
  if (symbols.length % 2) throw new Error("bigramFlip takes an even number of characters: add one, or take one away");
  return symbols.map((_, at) => symbols[at ^ 1]);
});
const oddFirst = permutation("abcdef", (symbols) => {
  if (symbols.length % 2) throw new Error("oddFirst takes an even number of characters: add one, or take one away");
  return [0, 1].flatMap((first) => symbols.filter((_, at) => at % 2 === first));
});
