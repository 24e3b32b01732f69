// Amounts in words, as perfcore.text writes them.

const UNIT_SCALES = {
  ns: [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]],
  s: [[1, " s"], [1e-3, " ms"], [1e-6, " µs"], [1e-9, " ns"]],
  B: [[2 ** 40, " TiB"], [2 ** 30, " GiB"], [2 ** 20, " MiB"], [2 ** 10, " KiB"], [1, " B"]],
  "": [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]],
};

/** Three digits and a power of ten, as Python writes them. */
function shortExponent(value) {
  const [digits, power] = value.toExponential(2).split("e");
  return `${Number(digits)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}

function shortNumber(value) {
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value);
  return size >= 1e-4 && size < 1e12 ? String(Number(value.toPrecision(3))) : shortExponent(value);
}

/** A number with a minus sign if it is negative, which the hyphen is not. */
const withMinus = (digits) => digits.replace(/^-/, "−");

/** The factor and the name of a unit in which this amount is written. */
function unitScale(size, unit) {
  const plain = unit === "1" ? "" : unit;
  if (plain === "" && size < 10000) return [1, ""];
  const scales = Object.hasOwn(UNIT_SCALES, plain) ? UNIT_SCALES[plain] : [];
  return scales.find(([factor]) => size >= factor) || [1, plain ? ` ${plain}` : ""];
}

function quantityText(value, unit) {
  if (value === null || Number.isNaN(value)) return "-";
  const [factor, name] = unitScale(Math.abs(value), unit);
  return withMinus(shortNumber(factor === 1 ? value : value / factor)) + name;
}

function pluralText(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
