// Text of an element: gzip in base 85, with the digits of RFC 1924 but a point for "<" (`packed` of pages/page.py).
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;.=>?@^_`{|}~";
const digit = new Uint8Array(128);
[...DIGITS].forEach((one, i) => { digit[one.charCodeAt(0)] = i; });
const unpacked = async id => {
  const text = document.getElementById(id).textContent, { length } = text, words = new DataView(new ArrayBuffer(4 * Math.ceil(length / 5)));
  for (let i = 0; i < length; i += 5) {
    let word = 0;
    for (let k = i; k < i + 5; k++) word = 85 * word + (k < length ? digit[text.charCodeAt(k)] : 84);
    words.setUint32(i / 5 * 4, word);
  }
  const packed = new Uint8Array(words.buffer, 0, Math.floor(length * 4 / 5));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
};
