// The tasks that a page reads problems of, by their names in lantm.tasks. A further task is an object like these:
//   read(text, about)            the symbols of the input and of the right answer; an Error says what is wrong
//   write(input, about)          the problem with these input symbols, as a person writes it
//   draw(length, about, random)  a random problem, as a person writes it
//   example, hint                what a person may write
//   order(about)                 how the symbols are to be read, where that is needed

const TASKS = { copy, reverse, bigramFlip, double, addition, oddFirst, repeatCopy, prioritySort, programs };

const MOST_SYMBOLS = 4000; // of an input: more cells than a page can show

/** A problem that a person wrote, as symbols over time; an Error says why it is none. */
function encoded(text, about) {
  const { input, answer } = TASKS[about.name].read(text, about);
  if (!input.length) throw new Error("there is nothing to work on yet");
  if (input.length > MOST_SYMBOLS) {
    throw new Error(`a page takes up to ${MOST_SYMBOLS.toLocaleString("en")} symbols, not ${input.length.toLocaleString("en")}`);
  }
  const expected = [...answer, about.endOfOutput];
  return { inputs: [about.start, ...input, ...expected.map(() => about.endOfInput)], expected };
}
