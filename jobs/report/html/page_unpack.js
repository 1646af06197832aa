// --- packed texts: unpacked at once, where the browser's own streams would end after the page has loaded ---

// Of lengths in four bits, the last one goes on in the following bytes.
function longer(length, next) {
  for (let byte = 255; byte === 255 && length >= 15; length += byte) byte = next();
  return length;
}

// An LZ4 block: some bytes as they are, then some that repeat earlier ones, and so on; before it, how long the text is.
function unpacked(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const out = new Uint8Array(new DataView(bytes.buffer).getUint32(0, true));
  let [at, end] = [4, 0];
  const next = () => bytes[at++];
  while (at < bytes.length) {
    const lengths = next();
    const num = longer(lengths >> 4, next);
    out.set(bytes.subarray(at, at + num), end);
    at += num;
    end += num;
    if (end === out.length) break;
    const back = next() + 256 * next();
    for (const stop = end + 4 + longer(lengths & 15, next); end < stop; end++) out[end] = out[end - back];
  }
  return new TextDecoder().decode(out);
}
