// Integers as people type them and numbers as people read them: what cli/numbers.py and report/numbers.py do.

const LONGEST = 60; // characters; a longer number is beyond every range
const MOST_DIGITS = 40; // beyond every range, and still quick to write out

/** The integer that the text stands for: 65536, 1e6, 2^16, 1_000 and 65,536 all are; null where it stands for none. */
function parseInteger(text) {
  text = text.trim();
  if (text.length > LONGEST) return null;
  const power = /^([+-]?\d+)(?:\^|\*\*)(\d+)$/.exec(text);
  if (power) return raised(BigInt(power[1].replace("+", "")), BigInt(power[2]));
  if (/^[+-]?\d{1,3}(,\d{3})+$/.test(text)) return Number(text.replaceAll(",", ""));
  const digits = String.raw`\d+(?:_\d+)*`;
  const decimal = new RegExp(`^([+-]?)(?:(${digits})\\.?((?:${digits})?)|\\.(\\d+))(?:[eE]([+-]?\\d+))?$`).exec(text);
  if (!decimal) return null;
  const [, sign, whole = "", fraction = "", bare = "", exponent = "0"] = decimal;
  const plain = (text) => text.replaceAll("_", "");
  return shifted(sign, plain(whole + fraction + bare), Number(exponent) - plain(fraction + bare).length);
}

/** base^exponent, exactly; infinite where it would be long. */
function raised(base, exponent) {
  const size = base < 0n ? -base : base;
  if (exponent === 0n) return 1;
  if (size <= 1n) return Number(exponent % 2n ? base : size);
  const long = exponent * BigInt(size.toString(2).length) > BigInt(4 * MOST_DIGITS);
  return long ? (base > 0n || exponent % 2n === 0n ? Infinity : -Infinity) : Number(base ** exponent);
}

/** sign digits * 10^places, exactly; null where that is no integer. */
function shifted(sign, digits, places) {
  if (/^0*$/.test(digits)) return 0;
  const kept = digits.length + Math.min(places, 0);
  if (kept <= 0 || /[1-9]/.test(digits.slice(kept))) return null;
  return Number(sign + digits.slice(0, kept) + "0".repeat(Math.min(Math.max(places, 0), MOST_DIGITS)));
}

/** x with so many decimals; an exact tie goes to the even digit, as in Python. */
function fixed(x, decimals) {
  return halfEven(x.toFixed(decimals), x.toFixed(100), decimals);
}

/** x to so many significant digits, as Python's "g" writes it. */
function general(x, digits) {
  if (x === 0) return "0";
  const [longMantissa] = x.toExponential(100).split("e");
  const [shortMantissa, power] = x.toExponential(digits - 1).split("e");
  const mantissa = halfEven(shortMantissa, longMantissa, digits - 1);
  const exponent = Number(power);
  const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  const near = exponent >= -4 && exponent < digits;
  if (near) return trimmed(Number(`${mantissa}e${exponent}`).toFixed(digits - 1 - exponent));
  return `${trimmed(mantissa)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** `short` where it is nearest; of an exact tie between two, the one with an even last digit. */
function halfEven(short, long, decimals) {
  const end = long.indexOf(".") + 1 + decimals;
  const below = long.slice(0, decimals ? end : end - 1);
  return /^50*$/.test(long.slice(end)) && /[02468]$/.test(below) ? below : short;
}

const missing = (x) => x === null || x === undefined || Number.isNaN(x);

/** A count with thousands apart. */
function count(x) {
  if (missing(x)) return "-";
  return Number.isFinite(x) && Math.abs(x) <= 1e15 ? Number(fixed(x, 0)).toLocaleString("en-US") : general(x, 3);
}

/** A real number to three significant digits. */
function number(x) {
  if (missing(x)) return "-";
  return Math.abs(x) >= 1000 && Math.abs(x) <= 1e15 ? count(x) : general(x, 3);
}

/** A probability to four decimals, with more where it would round to 0 or 1. */
function probability(x) {
  if (missing(x)) return "-";
  if (x === 0 || x === 1) return String(x);
  if (x < 1e-4) return general(x, 2);
  if (1 - x >= 1e-4) return fixed(x, 4);
  return 1 - x >= 1e-9 ? fixed(x, 1 - Math.floor(Math.log10(1 - x))) : ">0.999999999";
}

/** A standard deviation, to two significant digits or four decimals. */
function deviation(x) {
  if (missing(x)) return "-";
  return Math.abs(x) < 1e-3 ? general(x, 2) : fixed(x, 4);
}

/** A share of one as a percentage. */
function percent(share) {
  if (missing(share)) return "-";
  return share > 0 && share < 0.01 ? "<1 %" : `${fixed(100 * share, 0)} %`;
}
