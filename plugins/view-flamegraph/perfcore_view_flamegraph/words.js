// Words for people.

const SCALES = {
  ns: [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
  us: [[1e6, "s"], [1e3, "ms"], [1, "µs"]],
  s: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]],
  B: [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]],
};

function digits(value) {
  return Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(3)));
}

function quantity(value, unit) {
  const [factor, name] = (SCALES[unit] || []).find(([least]) => Math.abs(value) >= least) || [1, unit === "1" ? "" : unit];
  return `${digits(value / factor)} ${name}`.trim();
}

function percent(part, whole) {
  return whole ? `${Number(((100 * part) / whole).toPrecision(3))} %` : "-";
}

/** Target less baseline; what scaling has rounded is no change. */
function changeOf(before, after) {
  return Math.abs(after - before) <= 1e-9 * Math.max(before, after) ? 0 : after - before;
}

function signed(change, unit) {
  return change > 0 ? `+${quantity(change, unit)}` : change < 0 ? `−${quantity(-change, unit)}` : "±0";
}

/** What became of an amount: a sign and a number, or a word. */
function changed([before, after]) {
  return became(before, after, (percents) => `${Number(percents.toPrecision(3))} %`);
}

/** The same for a label, where there is little room. */
function sign([before, after]) {
  return became(before, after, (percents) => `${percents < 1 ? percents.toPrecision(1) : Math.round(percents)}%`);
}

function became(before, after, written) {
  if (!changeOf(before, after)) return "±0";
  if (!before) return "new";
  if (!after) return "gone";
  const change = (100 * (after - before)) / before;
  return change >= 1000 ? `×${digits(after / before)}` : `${change > 0 ? "+" : "−"}${written(Math.abs(change))}`;
}

// The table: what each function took itself and with all it called; recursion counts once.

function byFunction(profile, frames) {
  const { own, baseline, target } = profile;
  const kinds = baseline ? [own, baseline, target] : [own];
  const found = Array.from({ length: frames }, (_, frame) => ({ frame, own: [0, 0, 0], total: [0, 0, 0] }));
  kinds.forEach((values, kind) => {
    const totals = totalsOf(profile, values);
    const active = new Int32Array(found.length);
    const path = [];
    for (let node = 1; node < profile.size; node++) {
      while (path.length >= profile.depth[node]) active[path.pop()]--;
      const frame = profile.frame[node];
      found[frame].own[kind] += values[node];
      if (!active[frame]++) found[frame].total[kind] += totals[node];
      path.push(frame);
    }
  });
  return found.filter((row) => row.total[0] > 0);
}

function columnsOf(profile, { names, places }, { unit }, difference) {
  const whole = totalsOf(profile, profile.own)[ROOT];
  const text = [
    { title: "Function", value: (row) => names[row.frame] },
    { title: "File", value: (row) => places[row.frame] },
  ];
  const amount = (title, value) => ({ title, value, number: true, show: (row) => quantity(value(row), unit) });
  const change = (title, value) => ({ title, value, number: true, show: (row) => signed(value(row), unit) });
  const share = (title, value) => ({ title, value, number: true, show: (row) => percent(value(row), whole) });
  if (difference) {
    return [
      ...text,
      change("Own change", (row) => changeOf(row.own[1], row.own[2])),
      change("Change", (row) => changeOf(row.total[1], row.total[2])),
      amount("Baseline", (row) => row.total[1]),
      amount("Target", (row) => row.total[2]),
      { title: "In words", value: (row) => changed([row.total[1], row.total[2]]), number: true },
    ];
  }
  return [
    ...text,
    amount("Own", (row) => row.own[0]),
    share("Own share", (row) => row.own[0]),
    amount("Total", (row) => row.total[0]),
    share("Total share", (row) => row.total[0]),
  ];
}

function sortedRows(rows, column, falling) {
  const sign = falling ? -1 : 1;
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const key = (row) => (column.title.endsWith("hange") ? Math.abs(column.value(row)) : column.value(row));
  return rows.sort((one, other) => sign * compare(key(one), key(other)) || one.frame - other.frame);
}
