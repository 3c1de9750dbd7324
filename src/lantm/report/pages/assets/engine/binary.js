// Decodes the text that lantm.report.pages.binary writes to bytes.

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%,()*+-;.=/?@^_`{|}~";
const VALUES = new Uint8Array(128);
for (let value = 0; value < 85; value++) VALUES[DIGITS.charCodeAt(value)] = value;

/** Four bytes for five characters; of the last ones, a byte less than there are characters. */
function bytesOf(text) {
  const bytes = new Uint8Array(Math.floor((4 * text.length) / 5));
  for (let from = 0, to = 0; from < text.length; from += 5) {
    let value = 0;
    for (let at = from; at < from + 5; at++) value = 85 * value + (at < text.length ? VALUES[text.charCodeAt(at)] : 84);
    for (let place = 3; place >= 0; place--) if (to < bytes.length) bytes[to++] = Math.floor(value / 256 ** place) % 256;
  }
  return bytes;
}

/** The bytes of a text that holds a zlib stream. */
async function inflated(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}
