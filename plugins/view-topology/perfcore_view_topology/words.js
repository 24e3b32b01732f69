// Words for people.

const SCALES = {
  ns: [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]],
  s: [[1, " s"], [1e-3, " ms"], [1e-6, " µs"], [1e-9, " ns"]],
  B: [[2 ** 40, " TiB"], [2 ** 30, " GiB"], [2 ** 20, " MiB"], [2 ** 10, " KiB"], [1, " B"]],
  "": [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]],
};
const NO_VALUE = "no value";
const EXACT = 2 ** 53;

function digits(value) {
  return Number.isInteger(value) && Math.abs(value) < 1e6 ? String(value) : String(Number(value.toPrecision(3)));
}

function quantity(value, unit) {
  const plain = unit === "1" ? "" : unit;
  if (plain === "" && Math.abs(value) < 10000) return digits(value);
  const scales = Object.hasOwn(SCALES, plain) ? SCALES[plain] : [];
  const found = scales.find(([least]) => Math.abs(value) >= least);
  return found ? digits(value / found[0]) + found[1] : `${digits(value)} ${plain}`.trim();
}

/** All digits of a whole number that the short form does not show, else nothing. */
function exactly(value, unit) {
  const shown = Number.isInteger(value) && Math.abs(value) >= 10000 && Math.abs(value) < EXACT;
  return shown ? `${value.toLocaleString("en")} ${unit === "1" ? "" : unit}`.trim() : "";
}

function percent(share) {
  if (share === null || share === undefined) return "";
  return share === 0 || share === 1 ? `${100 * share} %` : `${(100 * share).toFixed(1)} %`;
}

function points(before, after) {
  const change = 100 * (after - before);
  return Math.abs(change) < 0.05 ? "±0" : `${change > 0 ? "+" : "−"}${Math.abs(change).toFixed(1)}`;
}

function signed(change, unit) {
  return change > 0 ? `+${quantity(change, unit)}` : change < 0 ? `−${quantity(-change, unit)}` : "±0";
}

/** What became of a value: a sign and percents, or a word. */
function became(before, after) {
  if (!before && !after) return NO_VALUE;
  if (!before || !after) return before ? `${NO_VALUE} any more` : `${NO_VALUE} before`;
  if (before[0] === after[0]) return "same";
  if (before[0] === 0) return "new";
  if (after[0] === 0) return "gone";
  const change = (100 * (after[0] - before[0])) / Math.abs(before[0]);
  return change >= 1000 ? `×${digits(after[0] / before[0])}` : `${change > 0 ? "+" : "−"}${Math.abs(change).toFixed(1)} %`;
}

function plural(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** A value with what is around it: `12.3 ms (10.1 ms … 14 ms in 3 runs), 98 % of all`. */
function told(value, unit, runs) {
  if (!value) return NO_VALUE;
  const [middle, least, most, counted, share] = value;
  const range = runs < 2 ? "" : counted < 2 ? ` (in 1 of ${runs} runs)`
    : ` (${quantity(least, unit)} … ${quantity(most, unit)} in ${counted < runs ? `${counted} of ${runs}` : counted} runs)`;
  return `${quantity(middle, unit)}${range}${share === null ? "" : `, ${percent(share)} of all`}`;
}
