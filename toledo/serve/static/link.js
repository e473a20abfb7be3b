// Links: choices are in the query, texts behind `#`, packed, so that they reach no log. What is too long is a file.

export const LONGEST = 8192;

/**
 * @param {string} text
 * @returns {Promise<string>}
 */
export async function pack(text) {
  const packed = await through(new Blob([text]).stream(), new CompressionStream("deflate-raw"));
  let letters = "";
  for (const byte of packed) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/**
 * @param {string} packed
 * @returns {Promise<string>}
 */
export async function unpack(packed) {
  const letters = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  return new TextDecoder().decode(await through(new Blob([bytes]).stream(), new DecompressionStream("deflate-raw")));
}

/**
 * @param {ReadableStream} stream
 * @param {CompressionStream | DecompressionStream} change
 */
async function through(stream, change) {
  return new Uint8Array(await new Response(stream.pipeThrough(change)).arrayBuffer());
}

/**
 * Save text as a file of the reader's.
 * @param {string} name
 * @param {Blob} content
 */
export function save(name, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
