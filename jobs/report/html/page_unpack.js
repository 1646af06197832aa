// --- packed texts, which are gzip in base64 (RFC 1951): unpacked at once, where a stream would end after the page has ---

const LONGEST = 15; // bits of a code
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const FIXED = [Array.from({length: 288}, (_, at) => 8 + (at > 143) - 2 * (at > 255) + (at > 279)), Array(30).fill(5)];
const LENGTHS = [...stepped(28, 3, (at) => (at >> 2) - 1), [258, 0]];
const DISTANCES = stepped(30, 1, (at) => (at >> 1) - 1);

// Of each symbol, the first number that it stands for, and how many bits say which of those from there on.
function stepped(num, first, bitsOf) {
  return Array.from({length: num}, (_, at) => {
    const bits = Math.max(0, bitsOf(at));
    first += 2 ** bits;
    return [first - 2 ** bits, bits];
  });
}

// For all bits that may come next, the symbol whose code they begin with, and how long that is.
function codesOf(lengths) {
  const table = new Uint16Array(2 ** LONGEST);
  let code = 0;
  for (let length = 1; length <= LONGEST; length++, code *= 2) {
    lengths.forEach((own, symbol) => {
      if (own !== length) return;
      const reversed = [...(code++).toString(2).padStart(length, "0")].reverse().join("");
      for (let at = parseInt(reversed, 2); at < table.length; at += 2 ** length) table[at] = symbol * 16 + length;
    });
  }
  return table;
}

class Bits {
  constructor(bytes, at) {
    this.bytes = bytes;
    this.at = at;
    this.held = 0;
    this.num = 0;
  }

  peek(num) {
    for (; this.num < num; this.num += 8) this.held |= this.bytes[this.at++] << this.num;
    return this.held & ((1 << num) - 1);
  }

  take(num) {
    const value = this.peek(num);
    this.held >>>= num;
    this.num -= num;
    return value;
  }

  symbol(codes) {
    const found = codes[this.peek(LONGEST)];
    this.take(found & 15);
    return found >> 4;
  }

  number([first, bits]) {
    return first + this.take(bits);
  }

  // Bytes as they are, from the next whole one on.
  stored() {
    this.take(this.num % 8);
    const length = this.take(16);
    this.take(16);
    return Array.from({length}, () => this.take(8));
  }

  // How long the codes of symbols and of distances are.
  lengths() {
    const [numSymbols, numDistances, num] = [257 + this.take(5), 1 + this.take(5), 4 + this.take(4)];
    const own = [];
    for (const at of ORDER.slice(0, num)) own[at] = this.take(3);
    const [codes, lengths] = [codesOf(own), []];
    const repeat = (length, times) => lengths.push(...Array(times).fill(length));
    while (lengths.length < numSymbols + numDistances) {
      const symbol = this.symbol(codes);
      if (symbol < 16) lengths.push(symbol);
      else if (symbol === 16) repeat(lengths.at(-1), 3 + this.take(2));
      else repeat(0, symbol === 17 ? 3 + this.take(3) : 11 + this.take(7));
    }
    return [lengths.slice(0, numSymbols), lengths.slice(numSymbols)];
  }
}

function unpacked(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const bits = new Bits(bytes, 10); // behind the header
  const out = new Uint8Array(new DataView(bytes.buffer).getUint32(bytes.length - 4, true));
  let [end, isLast] = [0, 0];
  while (!isLast) {
    isLast = bits.take(1);
    const kind = bits.take(2);
    if (kind === 0) {
      for (const byte of bits.stored()) out[end++] = byte;
      continue;
    }
    const [symbols, distances] = (kind === 1 ? FIXED : bits.lengths()).map(codesOf);
    for (let symbol = bits.symbol(symbols); symbol !== 256; symbol = bits.symbol(symbols)) {
      if (symbol < 256) {
        out[end++] = symbol;
        continue;
      }
      const length = bits.number(LENGTHS[symbol - 257]);
      const back = bits.number(DISTANCES[bits.symbol(distances)]);
      for (const stop = end + length; end < stop; end++) out[end] = out[end - back];
    }
  }
  return new TextDecoder().decode(out);
}
