// Tasks with numbers in unary, one `<s>` per unit, as in lantm.tasks.marked.

const charactersOf = (length, about, random) => Array.from(copy.draw(length, about, random));

const repeatCopy = {
  example: "3:hello",
  hint: "Type how often and what",
  order: () => "One mark for every time stands before the text.",
  read(text, about) {
    const found = text.match(/^\s*([0-9]{1,7}):([^]+)$/);
    if (!found || !Number(found[1])) throw new Error("repeatCopy needs a number and a text: write them as 3:hello");
    const [times, { input }] = [Number(found[1]), copy.read(found[2], about)];
    const length = times * input.length;
    if (length > MOST_SYMBOLS) throw new Error(`a page takes answers of up to ${MOST_SYMBOLS} symbols, not ${length}`);
    const marks = new Array(times).fill(about.start);
    return { input: [...marks, ...input], answer: Array.from({ length }, (_, at) => input[at % input.length]) };
  },
  write(input, about) {
    const times = input.lastIndexOf(about.start) + 1;
    return `${times}:${copy.write(input.slice(times), about)}`;
  },
  draw: (length, about, random) => `${length}:${charactersOf(about.textSize, about, random).join("")}`,
};

const prioritySort = {
  example: "2:c 0:a 1:b",
  hint: "Type priorities and values",
  order: () => "Before every value stand as many marks as its priority says.",
  read(text, about) {
    if (!/^([0-9]{1,4}:[^] )*[0-9]{1,4}:[^]$/u.test(text)) {
      throw new Error("prioritySort needs priorities and values: write them as 2:c 0:a 1:b");
    }
    const pairs = Array.from(text.matchAll(/([0-9]+):([^])(?: |$)/gu), ([, priority, value]) => [Number(priority), value]);
    const priorities = new Set(pairs.map(([priority]) => priority));
    if (priorities.size < pairs.length || Math.max(...priorities) >= pairs.length) {
      throw new Error(`prioritySort needs the priorities 0 to ${pairs.length - 1}, each once`);
    }
    const values = copy.read(pairs.map(([, value]) => value).join(""), about).input;
    const [input, answer] = [[], []];
    pairs.forEach(([priority], at) => {
      input.push(...new Array(priority).fill(about.start), values[at]);
      answer[priority] = values[at];
    });
    return { input, answer };
  },
  write(input, about) {
    const pairs = [];
    let priority = 0;
    for (const symbol of input) {
      if (symbol === about.start) priority++;
      else {
        pairs.push(`${priority}:${about.symbols[symbol]}`);
        priority = 0;
      }
    }
    return pairs.join(" ");
  },
  draw(length, about, random) {
    const order = Array.from({ length }, (_, at) => at);
    for (let at = length - 1; at > 0; at--) {
      const other = Math.floor(random() * (at + 1));
      [order[at], order[other]] = [order[other], order[at]];
    }
    const values = charactersOf(length, about, random);
    return order.map((priority, at) => `${priority}:${values[at]}`).join(" ");
  },
};
