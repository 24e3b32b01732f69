// A chart: lines over positions, drawn on a canvas, with a strip of the whole range below.

const CHART = {
  left: 76, right: 14, lane: 20, bottom: 24, strip: 30, // pixels around the plot; the lane above it holds the changes
  marks: 6, // pixels from point to point from which on each has a mark
  fewest: 3, // points, the narrowest range that zooming shows
  rows: 200, // of the table at once
  shapes: [[], [[-3, -3], [3, -3], [3, 3], [-3, 3]], [[0, -4], [4, 3], [-4, 3]], [[0, -5], [4, 0], [0, 5], [-4, 0]], [[0, 4], [4, -3], [-4, -3]],
    [[-4, -2], [-1, -2], [-1, -5], [1, -5], [1, -2], [4, -2], [4, 1], [1, 1], [1, 4], [-1, 4], [-1, 1], [-4, 1]]],
  dashes: [[], [7, 3], [2, 3], [9, 3, 2, 3], [5, 2], [1, 2]],
};

/** The numbers of a column, NaN for what is missing. */
function numbers(column, length) {
  const values = new Float64Array(length).fill(NaN);
  if (column) for (let at = 0; at < length; at++) if (column[at] !== null && column[at] !== undefined) values[at] = column[at];
  return values;
}

/** The values of a line with the bounds of their intervals: they are stored in steps, the bounds as distances. */
function valuesOf({ step, values, below, above }, length) {
  const middle = numbers(values, length), low = numbers(below, length), high = numbers(above, length);
  for (let at = 0; at < length; at++) {
    low[at] = (middle[at] - low[at]) * step;
    high[at] = (middle[at] + high[at]) * step;
    middle[at] *= step;
  }
  return { values: middle, low, high };
}

/** Round steps between two amounts, with their texts in one unit. */
function ticksOf(low, high, most, unit) {
  const [factor, name] = unitScale(Math.max(Math.abs(low), Math.abs(high)), unit);
  const rough = (high - low) / factor / Math.max(1, most);
  if (!(rough > 0) || !Number.isFinite(rough)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((times) => times * power >= rough) || 10);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let at = Math.ceil(low / factor / step - 1e-9); at * step <= high / factor + 1e-9 * step && ticks.length < 50; at++) {
    const isLong = digits > 8 || Math.abs(at * step) >= 1e9; // it would be wider than the room beside the axis
    ticks.push({ value: at * step * factor, text: withMinus(isLong ? shortExponent(at * step) : (at * step).toFixed(digits)) + name });
  }
  return ticks;
}

function dayText(seconds) {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString().slice(0, 10);
}

/** The first index whose position is not below a value. */
function firstFrom(positions, value) {
  let low = 0, high = positions.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (positions[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Minimum and maximum of each pixel column, with the first and last value in it: no peak disappears. */
function columnsOf(values, low, high, positions, from, to, first, last, width) {
  const made = { min: new Float64Array(width).fill(NaN), max: new Float64Array(width).fill(NaN), first: new Float64Array(width).fill(NaN),
    last: new Float64Array(width).fill(NaN), low: new Float64Array(width).fill(NaN), high: new Float64Array(width).fill(NaN) };
  const scale = width / (to - from);
  for (let at = first; at < last; at++) {
    const value = values[at];
    if (value !== value) continue; // NaN
    const column = Math.min(width - 1, Math.max(0, Math.floor((positions[at] - from) * scale)));
    if (made.min[column] !== made.min[column]) made.first[column] = made.min[column] = made.max[column] = value;
    else if (value < made.min[column]) made.min[column] = value;
    else if (value > made.max[column]) made.max[column] = value;
    made.last[column] = value;
    const bottom = low[at] === low[at] ? low[at] : value, top = high[at] === high[at] ? high[at] : value;
    if (!(made.low[column] <= bottom)) made.low[column] = bottom;
    if (!(made.high[column] >= top)) made.high[column] = top;
  }
  return made;
}

function chart(figure, data) {
  const count = data.labels.length, id = figure.id, unit = data.unit;
  const lines = data.lines.map((line) => ({
    ...line, ...valuesOf(line, count),
    hollow: new Set(line.hollow), shown: true,
  }));
  const inOrder = Float64Array.from({ length: count }, (_, at) => at);
  const commitDates = data.dates.length === count ? Float64Array.from(data.dates) : null;
  if (commitDates) for (let at = 1; at < count; at++) commitDates[at] += commitDates[at - 1];
  // Dates of commits may go back along a branch; the order of versions does not.
  const dates = commitDates && Float64Array.from(commitDates);
  if (dates) for (let at = 1; at < count; at++) dates[at] = Math.max(dates[at], dates[at - 1]);
  const numeric = data.positions.length === count ? Float64Array.from(data.positions) : null;
  const hasDates = !numeric && dates !== null && dates[count - 1] > dates[0];
  const stops = [...new Set([...data.marks, ...data.rules].map(({ at }) => at))].sort((one, other) => one - other);
  const state = { from: 0, to: 1, cursor: -1, line: 0, zero: Boolean(data.zero), byDate: false, hover: -1, drag: null };
  let colors = {}, drawn = null, wanted = 0, wide = 0, stripImage = null, positions = inOrder;

  // The elements.

  const canvas = element("canvas", "", { className: "plot", tabIndex: 0 });
  const strip = element("canvas", "", { className: "strip" });
  const status = element("p", "", { className: "at", id: `${id}-at` });
  const live = element("p", "", { className: "unseen" });
  const tip = element("div", "", { className: "tip", hidden: true });
  const note = element("p", "", { className: "soft note" });
  const controls = around("div", "controls");
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-roledescription", "chart");
  canvas.setAttribute("aria-label", `Chart of ${data.title}. Left and right arrow keys move between ${data.axis}, up and down between changes, ` +
    "plus and minus zoom, question mark lists all keys. The tables below hold the same.");
  canvas.setAttribute("aria-describedby", status.id);
  strip.setAttribute("aria-hidden", "true");
  tip.setAttribute("aria-hidden", "true");
  live.setAttribute("role", "status");
  live.setAttribute("aria-live", "polite");
  const stage = around("div", "stage", canvas, strip, tip);
  const context = canvas.getContext("2d"), stripContext = strip.getContext("2d");

  function button(text, action, facts = {}) {
    const made = element("button", text, { type: "button", ...facts });
    made.addEventListener("click", () => { action(); refresh(); });
    controls.append(made);
    return made;
  }

  const togglers = lines.length < 2 ? [] : lines.map((line, number) => {
    const made = button(line.name, () => toggleLine(number), { className: "line" });
    const swatch = element("canvas", "", { width: 26, height: 12 });
    swatch.setAttribute("aria-hidden", "true");
    made.prepend(swatch);
    return made;
  });
  const zeroButton = button("From zero", () => setZero(!state.zero), { title: "The scale from zero (z)" });
  const dateButton = hasDates ? button("By date", () => setByDate(!state.byDate), { title: "Positions by date (b)" }) : null;
  button("Whole range", reset, { title: "The whole range (Esc)" });
  button("Keys", help, { title: "All keys (?)" });

  // The view.

  const plotWidth = () => Math.max(1, wide - CHART.left - CHART.right);
  const plotHeight = () => Math.max(1, canvas.clientHeight - CHART.lane - CHART.bottom);
  const xOf = (position) => CHART.left + ((position - state.from) / (state.to - state.from)) * plotWidth();
  const positionAt = (x) => state.from + ((x - CHART.left) / plotWidth()) * (state.to - state.from);

  function whole() {
    if (!count) return { from: 0, to: 1 };
    const first = positions[0], last = positions[count - 1];
    const edge = positions === inOrder ? 0.5 : ((last - first) || 1) * 0.02;
    return { from: first - edge, to: last + edge };
  }

  function view(from, to) {
    const all = whole(), span = all.to - all.from;
    const least = Math.min(span, positions === inOrder ? CHART.fewest : span * 1e-6);
    const length = Math.min(span, Math.max(least, to - from));
    const middle = (from + to) / 2;
    state.from = Math.min(all.to - length, Math.max(all.from, middle - length / 2));
    state.to = state.from + length;
  }

  function zoom(factor, around) {
    view(around - (around - state.from) * factor, around + (state.to - around) * factor);
  }

  function visible() {
    return [Math.max(0, firstFrom(positions, state.from) - 1), Math.min(count, firstFrom(positions, state.to) + 1)];
  }

  function range() {
    const [first, last] = visible();
    let low = Infinity, high = -Infinity;
    for (const line of lines) {
      if (!line.shown) continue;
      for (let at = first; at < last; at++) {
        const value = line.values[at];
        if (value !== value || !Number.isFinite(value)) continue;
        const bottom = Number.isFinite(line.low[at]) ? line.low[at] : value, top = Number.isFinite(line.high[at]) ? line.high[at] : value;
        if (bottom < low) low = bottom;
        if (top > high) high = top;
      }
      for (const [start, end, one, other] of line.levels || []) {
        if (end < first || start >= last) continue;
        low = Math.min(low, one, other);
        high = Math.max(high, one, other);
      }
    }
    for (const mark of data.marks) {
      if (mark.low === null || mark.high === null || mark.at < first || mark.at >= last || !lines[mark.line] || !lines[mark.line].shown) continue;
      low = Math.min(low, mark.low);
      high = Math.max(high, mark.high);
    }
    if (low > high) [low, high] = [0, 1];
    if (state.zero) [low, high] = [Math.min(0, low), Math.max(0, high)];
    const edge = (high - low) * 0.06 || Math.abs(high) * 0.05 || 1;
    return { low: state.zero && low === 0 ? 0 : low - edge, high: state.zero && high === 0 ? 0 : high + edge };
  }

  // Drawing.

  function readColors() {
    if (theme.isForced()) {
      const text = "CanvasText";
      colors = { surface: "Canvas", text, soft: text, line: "GrayText", accent: "Highlight", worse: text, better: text, other: text,
        series: lines.map(() => text), band: 0.18 };
      return;
    }
    const style = getComputedStyle(figure);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    colors = { band: 0.2 };
    for (const name of ["surface", "text", "soft", "line", "accent", "worse", "better", "other"]) colors[name] = color(name);
    colors.series = lines.map((_, number) => color(`series-${(number % 6) + 1}`));
  }

  function size(target, tall) {
    const dense = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(wide * dense), Math.round(tall * dense)];
    if (target.width !== width || target.height !== height) [target.width, target.height] = [width, height];
    target.style.width = `${wide}px`;
    target.style.height = `${tall}px`;
    target.getContext("2d").setTransform(dense, 0, 0, dense, 0, 0);
  }

  function paint() {
    wanted = 0;
    wide = theme.isPaper() ? Math.min(stage.clientWidth, PAPER) : stage.clientWidth;
    if (!wide) return;
    size(canvas, data.height);
    size(strip, CHART.strip);
    const { low, high } = range();
    const top = CHART.lane, bottom = CHART.lane + plotHeight();
    const yOf = (value) => bottom - ((value - low) / (high - low)) * (bottom - top);
    context.fillStyle = colors.surface;
    context.fillRect(0, 0, wide, data.height);
    context.font = "12px system-ui, -apple-system, 'Segoe UI', sans-serif";
    context.lineJoin = "round";
    drawn = { low, high, yOf, top, bottom };
    paintAxes();
    context.save();
    context.beginPath();
    context.rect(CHART.left, 0, plotWidth(), bottom);
    context.clip();
    paintRules();
    const [first, last] = visible();
    const dense = last - first > 1.5 * plotWidth();
    lines.forEach((line, number) => {
      if (line.shown) (dense ? paintColumns : paintPoints)(context, line, number, first, last, yOf);
    });
    lines.forEach((line, number) => line.shown && paintLevels(line, number, first, last));
    paintMarks();
    paintCursor();
    context.restore();
    if (state.drag && state.drag.kind === "range") paintSelection();
    paintStrip();
    note.textContent = noteText();
    zeroButton.setAttribute("aria-pressed", String(state.zero));
    if (dateButton) dateButton.setAttribute("aria-pressed", String(state.byDate));
    togglers.forEach((made, number) => made.setAttribute("aria-pressed", String(lines[number].shown)));
  }

  function noteText() {
    const { low, high } = drawn;
    const fitted = state.zero || (low <= 0 && high >= 0) ? "" : `The scale begins at ${quantityText(low, unit)}, not at zero. `;
    const [first, last] = shownRange();
    const part = last - first + 1 < count ? `Shown: ${label(first)} to ${label(last)}, ${last - first + 1} of ${count} ${data.axis}. ` : "";
    return `${fitted}${part}${data.band || ""}`;
  }

  function paintAxes() {
    const { low, high, yOf, top, bottom } = drawn;
    context.strokeStyle = colors.line;
    context.fillStyle = colors.soft;
    context.lineWidth = 1;
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const { value, text } of ticksOf(low, high, (bottom - top) / 44, unit)) {
      const y = Math.round(yOf(value)) + 0.5;
      segment(CHART.left, y, wide - CHART.right, y);
      context.fillText(text, CHART.left - 8, y, CHART.left - 10);
    }
    segment(CHART.left - 0.5, top, CHART.left - 0.5, bottom);
    context.textBaseline = "top";
    context.textAlign = "center";
    for (const { position, text } of xTicks()) {
      const x = Math.round(xOf(position)) + 0.5;
      segment(x, bottom, x, bottom + 4);
      context.fillText(text, Math.min(wide - 40, Math.max(40, x)), bottom + 7, 110);
    }
  }

  function segment(x1, y1, x2, y2) {
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    context.stroke();
  }

  function xTicks() {
    const most = Math.max(2, Math.floor(plotWidth() / 120));
    if (numeric) return ticksOf(state.from, state.to, most, data.positionUnit || "").map(({ value, text }) => ({ position: value, text }));
    const [first, last] = shownRange();
    const step = Math.max(1, Math.ceil((last - first + 1) / most));
    const ticks = [];
    let end = -Infinity;
    for (let at = Math.ceil(first / step) * step; at <= last; at += step) {
      if (xOf(positions[at]) < end) continue;
      end = xOf(positions[at]) + 96;
      ticks.push({ position: positions[at], text: state.byDate ? dateText(at) : label(at) });
    }
    return ticks;
  }

  /** The first and the last point that are in the view. */
  function shownRange() {
    return [Math.min(count - 1, firstFrom(positions, state.from)), Math.max(0, firstFrom(positions, state.to) - 1)];
  }

  function paintRules() {
    let free = -Infinity;
    for (const { at, kind, text } of data.rules) {
      const x = Math.round(xOf(kind === "machine" && at && positions === inOrder ? positions[at] - 0.5 : positions[at])) + 0.5;
      if (x < CHART.left || x > wide - CHART.right) continue;
      context.strokeStyle = colors.soft;
      context.setLineDash(kind === "machine" ? [2, 2] : [8, 4]);
      context.lineWidth = kind === "machine" ? 2 : 1;
      segment(x, drawn.top, x, drawn.bottom);
      context.setLineDash([]);
      if (x < free) continue;
      const word = kind === "machine" ? `⚙ ${text}` : `⚑ ${text}`;
      const label = word.length > 26 ? `${word.slice(0, 25)}…` : word;
      const room = context.measureText(label).width + 4;
      // The newest version is often a release: beyond the end of the chart its name would be cut off to another one.
      const isAtTheEnd = x + room > wide - CHART.right;
      if (isAtTheEnd && x - room < free) continue;
      context.fillStyle = colors.soft;
      context.textAlign = "left";
      context.textBaseline = "top";
      context.fillText(label, isAtTheEnd ? x - room : x + 4, drawn.top + 2);
      free = isAtTheEnd ? x : x + room + 6;
    }
    context.lineWidth = 1;
  }

  /** The points of each run of neighbours that are measured; of lines that take turns all are one. */
  function* runs(values, first, last) {
    // A line comes in from beyond the edge.
    if (data.turns) while (first > 0 && values[first] !== values[first]) first--;
    if (data.turns) while (last < count && values[last - 1] !== values[last - 1]) last++;
    let run = [];
    for (let at = first; at < last; at++) {
      if (values[at] === values[at]) {
        run.push(at);
      } else if (run.length && !data.turns) {
        yield run;
        run = [];
      }
    }
    if (run.length) yield run;
  }

  /** Whether a point has no neighbour to be joined to. */
  function isAlone(values, at) {
    return !data.turns && (at === 0 || values[at - 1] !== values[at - 1]) && (at === count - 1 || values[at + 1] !== values[at + 1]);
  }

  function paintPoints(target, line, number, first, last, yOf) {
    const { values, low, high } = line;
    target.fillStyle = target.strokeStyle = colors.series[number];
    const joined = data.points ? [] : [...runs(values, first, last)];
    for (const run of line.hasBand ? joined : []) {
      target.globalAlpha = colors.band;
      target.beginPath();
      for (const at of run) target.lineTo(xOf(positions[at]), yOf(high[at] === high[at] ? high[at] : values[at]));
      for (const at of run.toReversed()) target.lineTo(xOf(positions[at]), yOf(low[at] === low[at] ? low[at] : values[at]));
      target.fill();
      target.globalAlpha = 1;
    }
    target.lineWidth = 1.5;
    target.setLineDash(CHART.dashes[number % 6]);
    for (const run of joined) {
      target.beginPath();
      for (const at of run) target.lineTo(xOf(positions[at]), yOf(values[at]));
      target.stroke();
    }
    target.setLineDash([]);
    const apart = plotWidth() / Math.max(1, last - first);
    for (let at = first; at < last; at++) {
      if (values[at] !== values[at]) continue;
      const isHollow = line.hollow.has(at);
      if (!(data.points || isAlone(values, at) || isHollow || apart >= CHART.marks)) continue;
      const x = xOf(positions[at]), y = yOf(values[at]);
      if (hasOwnInterval(line, at)) errorBar(target, x, yOf(low[at]), yOf(high[at]));
      dot(target, x, y, isHollow, number);
    }
  }

  /** Whether a point shows its own interval: one without neighbours has no band. */
  function hasOwnInterval(line, at) {
    return line.low[at] === line.low[at] && line.high[at] > line.low[at] && (data.points || isAlone(line.values, at));
  }

  function errorBar(target, x, low, high) {
    target.beginPath();
    target.moveTo(x - 3, low);
    target.lineTo(x + 3, low);
    target.moveTo(x, low);
    target.lineTo(x, high);
    target.moveTo(x - 3, high);
    target.lineTo(x + 3, high);
    target.stroke();
  }

  /** A point; of points without lines each line has a shape of its own. */
  function dot(target, x, y, isHollow, number) {
    const color = colors.series[number];
    target.beginPath();
    if (data.points && number % CHART.shapes.length) {
      for (const [dx, dy] of CHART.shapes[number % CHART.shapes.length]) target.lineTo(x + dx, y + dy);
      target.closePath();
    } else {
      target.arc(x, y, isHollow || data.points ? 3.5 : 2.5, 0, 7);
    }
    target.fillStyle = isHollow ? colors.surface : color;
    target.fill();
    if (isHollow) target.stroke();
    target.fillStyle = color;
  }

  function paintColumns(target, line, number, first, last, yOf) {
    const width = Math.round(plotWidth());
    const columns = columnsOf(line.values, line.low, line.high, positions, state.from, state.to, first, last, width);
    strokeColumns(target, columns, CHART.left, width, yOf, colors.series[number], line.hasBand ? colors.band : 0);
  }

  function strokeColumns(target, columns, left, width, yOf, color, band) {
    target.fillStyle = target.strokeStyle = color;
    if (band) {
      target.globalAlpha = band;
      for (let at = 0; at < width; at++) {
        if (columns.low[at] !== columns.low[at]) continue;
        const top = yOf(columns.high[at]);
        target.fillRect(left + at, top, 1, Math.max(1, yOf(columns.low[at]) - top));
      }
      target.globalAlpha = 1;
    }
    target.lineWidth = 1;
    target.beginPath();
    let isOpen = false;
    for (let at = 0; at < width; at++) {
      if (columns.min[at] !== columns.min[at]) {
        isOpen = isOpen && data.turns;
        continue;
      }
      const x = left + at + 0.5;
      if (isOpen) target.lineTo(x, yOf(columns.first[at]));
      else target.moveTo(x, yOf(columns.first[at]) + 0.5);
      target.lineTo(x, yOf(columns.min[at]));
      target.lineTo(x, yOf(columns.max[at]) - 0.5);
      target.lineTo(x, yOf(columns.last[at]));
      isOpen = true;
    }
    target.stroke();
  }

  function paintLevels(line, number, first, last) {
    context.lineWidth = 2.5;
    context.strokeStyle = colors.text;
    context.setLineDash(lines.length > 1 ? CHART.dashes[number % 6] : []);
    context.beginPath();
    for (const [start, end, one, other] of line.levels || []) {
      if (end < first || start >= last) continue;
      const half = positions === inOrder ? 0.5 : 0;
      context.moveTo(xOf(positions[start] - half), drawn.yOf(one));
      context.lineTo(xOf(positions[end] + half), drawn.yOf(other));
    }
    context.stroke();
    context.setLineDash([]);
    context.lineWidth = 1;
  }

  function paintMarks() {
    for (const mark of data.marks) {
      if (!lines[mark.line] || !lines[mark.line].shown) continue;
      const x = xOf(positions[mark.at]);
      if (x < CHART.left - 8 || x > wide - CHART.right + 8) continue;
      const color = mark.worse === null ? colors.other : mark.worse ? colors.worse : colors.better;
      const half = positions === inOrder ? 0.5 : 0;
      const left = xOf(positions[mark.first] - half), right = xOf(positions[mark.last] + half);
      context.fillStyle = context.strokeStyle = color;
      context.globalAlpha = 0.14;
      context.fillRect(left, drawn.top, Math.max(1, right - left), drawn.bottom - drawn.top);
      context.globalAlpha = 1;
      if (mark.low !== null && mark.high !== null) {
        context.lineWidth = 2;
        errorBar(context, x, drawn.yOf(mark.low), drawn.yOf(mark.high));
        context.lineWidth = 1;
      }
      shape(context, mark, x, CHART.lane / 2, color);
    }
  }

  /** Up for worse, down for better, a diamond for the others; hollow where it fails no check; beside it the sign of a decision. */
  function shape(target, mark, x, y, color) {
    const corners = mark.worse === null ? [[0, -7], [6, 0], [0, 7], [-6, 0]] : mark.worse ? [[0, -7], [7, 6], [-7, 6]] : [[0, 7], [7, -6], [-7, -6]];
    target.beginPath();
    for (const [dx, dy] of corners) target.lineTo(x + dx, y + dy);
    target.closePath();
    target.fillStyle = mark.accepted ? colors.surface : color;
    target.fill();
    target.strokeStyle = color;
    target.lineWidth = 1.5;
    target.stroke();
    if (mark.badge) {
      target.fillStyle = color;
      target.textAlign = "left";
      target.textBaseline = "middle";
      target.fillText(mark.badge, x + 8, y);
    }
    target.lineWidth = 1;
  }

  function paintCursor() {
    for (const [at, strong] of [[state.hover, false], [document.activeElement === canvas ? state.cursor : -1, true]]) {
      if (at < 0) continue;
      const x = Math.round(xOf(positions[at])) + 0.5, value = lineAt(at).values[at];
      context.strokeStyle = strong ? colors.accent : colors.soft;
      context.lineWidth = strong ? 2 : 1;
      segment(x, drawn.top, x, drawn.bottom);
      if (value === value) {
        context.beginPath();
        context.arc(x, drawn.yOf(value), 6, 0, 7);
        context.stroke();
      }
      context.lineWidth = 1;
    }
  }

  function paintSelection() {
    const { x, now } = state.drag;
    context.fillStyle = colors.accent;
    context.globalAlpha = 0.2;
    context.fillRect(Math.min(x, now), drawn.top, Math.abs(now - x), drawn.bottom - drawn.top);
    context.globalAlpha = 1;
  }

  /** The whole range in small, with a frame around what the view shows. It is kept until the width or a colour changes. */
  function paintStrip() {
    const dense = window.devicePixelRatio || 1;
    if (!stripImage) {
      stripImage = Object.assign(document.createElement("canvas"), { width: strip.width, height: strip.height });
      const target = stripImage.getContext("2d");
      target.setTransform(dense, 0, 0, dense, 0, 0);
      target.fillStyle = colors.surface;
      target.fillRect(0, 0, wide, CHART.strip);
      const width = Math.round(plotWidth()), all = whole();
      const parts = lines.filter((line) => line.shown);
      const ends = parts.flatMap(({ values }) => [values.reduce((least, value) => (value < least ? value : least), Infinity),
        values.reduce((most, value) => (value > most ? value : most), -Infinity)]);
      const low = Math.min(...ends), high = Math.max(...ends);
      const yOf = (value) => (high > low ? CHART.strip - 4 - ((value - low) / (high - low)) * (CHART.strip - 8) : CHART.strip / 2);
      for (const line of parts) {
        const color = colors.series[lines.indexOf(line)];
        if (count > width) {
          const columns = columnsOf(line.values, line.low, line.high, positions, all.from, all.to, 0, count, width);
          strokeColumns(target, columns, CHART.left, width, yOf, color, 0);
        } else {
          strokeRuns(target, line.values, (at) => CHART.left + ((positions[at] - all.from) / (all.to - all.from)) * width, yOf, color);
        }
      }
    }
    stripContext.save();
    stripContext.setTransform(1, 0, 0, 1, 0, 0);
    stripContext.drawImage(stripImage, 0, 0);
    stripContext.restore();
    const all = whole(), span = all.to - all.from;
    const left = CHART.left + ((state.from - all.from) / span) * plotWidth(), right = CHART.left + ((state.to - all.from) / span) * plotWidth();
    stripContext.fillStyle = colors.line;
    stripContext.globalAlpha = 0.6;
    stripContext.fillRect(CHART.left, 0, left - CHART.left, CHART.strip);
    stripContext.fillRect(right, 0, wide - CHART.right - right, CHART.strip);
    stripContext.globalAlpha = 1;
    stripContext.strokeStyle = colors.accent;
    stripContext.lineWidth = 2;
    stripContext.strokeRect(left + 1, 1, Math.max(2, right - left - 2), CHART.strip - 2);
  }

  function strokeRuns(target, values, xAt, yOf, color) {
    target.strokeStyle = color;
    target.beginPath();
    for (const run of runs(values, 0, count)) {
      target.moveTo(xAt(run[0]) - 1, yOf(values[run[0]]));
      for (const at of run) target.lineTo(xAt(at), yOf(values[at]));
    }
    target.stroke();
  }

  function redraw() {
    wanted ||= requestAnimationFrame(paint);
  }

  // Words.

  const label = (at) => data.labels[at];
  const dateText = (at) => (commitDates ? dayText(commitDates[at]) : "");
  const marksAt = (at) => data.marks.filter((mark) => mark.at === at && lines[mark.line].shown);
  const rulesAt = (at) => data.rules.filter((rule) => rule.at === at);

  /** The chosen line, or of lines that take turns the one that has a value there. */
  function lineAt(at) {
    return (data.turns && lines.find(({ shown, values }) => shown && values[at] === values[at])) || lines[state.line];
  }

  /** What each of these lines has there; of lines that take turns the others have nothing to say. */
  function valueTexts(chosen, at) {
    const isTold = (line) => !data.turns || line.values[at] === line.values[at] || chosen.every(({ values }) => values[at] !== values[at]);
    return chosen.map((line) => (isTold(line) ? valueText(line, at) : ""));
  }

  function valueText(line, at) {
    const value = line.values[at];
    if (value !== value) return "not measured";
    const low = line.low[at], high = line.high[at];
    const parts = [quantityText(value, unit)];
    if (low === low && high === high && line.hasBand) parts.push(`${quantityText(low, unit)} to ${quantityText(high, unit)}`);
    if (line.counts && line.counts[at]) parts.push(pluralText(line.counts[at], "run"));
    if (line.hollow.has(at)) parts.push("inconclusive");
    return parts.join(", ");
  }

  function describe(at) {
    if (at < 0 || at >= count) return "";
    const head = [label(at), dateText(at), data.notes[at]].filter(Boolean).join(", ");
    const shown = lines.filter((line) => line.shown), texts = valueTexts(shown, at);
    const values = texts.map((text, number) => text && (lines.length > 1 ? `${shown[number].name} ` : "") + text).filter(Boolean);
    const changes = [...marksAt(at).map(({ word, text, decided }) => [word, text, decided].filter(Boolean).join(" ")),
      ...rulesAt(at).map(({ kind, text }) => `${kind} ${text}`)];
    return [head, ...values, ...changes].join("; ");
  }

  function showStatus() {
    const at = state.hover >= 0 ? state.hover : state.cursor;
    status.textContent = at >= 0 ? describe(at) : data.hint;
    const link = at >= 0 && linkOf(at);
    if (link && state.hover < 0) status.append(" ", element("a", "open", { href: link }));
  }

  const linkOf = (at) => (data.link && label(at) ? data.link.replaceAll("{}", encodeURIComponent(label(at))) : "");

  // What people do.

  function setCursor(at, { isSilent = false } = {}) {
    state.cursor = Math.max(0, Math.min(count - 1, at));
    state.hover = -1;
    tip.hidden = true;
    const position = positions[state.cursor], span = state.to - state.from;
    if (position < state.from || position > state.to) view(position - span / 2, position + span / 2);
    if (!isSilent) live.textContent = `${describe(state.cursor)}; ${state.cursor + 1} of ${count}`;
  }

  function step(by) {
    setCursor(state.cursor < 0 ? (by > 0 ? shownRange()[0] : shownRange()[1]) : state.cursor + by);
  }

  function toChange(by) {
    const next = by > 0 ? stops.find((at) => at > state.cursor) : stops.findLast((at) => at < (state.cursor < 0 ? Infinity : state.cursor));
    if (next === undefined) live.textContent = `no ${by > 0 ? "later" : "earlier"} change`;
    else setCursor(next);
  }

  function toggleLine(number) {
    const shown = lines.filter((line) => line.shown);
    lines[number].shown = !lines[number].shown || shown.length === 1;
    state.line = lines[number].shown ? number : lines.findIndex((line) => line.shown);
    stripImage = null;
  }

  function nextLine(by) {
    const shown = lines.map((_, number) => number).filter((number) => lines[number].shown);
    state.line = shown[(shown.indexOf(state.line) + by + shown.length) % shown.length];
    live.textContent = lines[state.line].name;
  }

  function setZero(zero) {
    state.zero = zero;
    live.textContent = zero ? "the scale begins at zero" : "the scale is fitted";
  }

  function setByDate(byDate) {
    const [first, last] = shownRange();
    state.byDate = byDate && hasDates;
    positions = numeric || (state.byDate ? dates : inOrder);
    stripImage = null;
    const isWhole = first === 0 && last === count - 1;
    if (isWhole) view(whole().from, whole().to);
    else view(positions[first] - (state.byDate ? 0 : 0.5), positions[last] + (state.byDate ? 0 : 0.5));
  }

  function reset() {
    const all = whole();
    view(all.from, all.to);
    live.textContent = "the whole range";
  }

  function centre() {
    const position = state.cursor >= 0 ? positions[state.cursor] : NaN;
    return position >= state.from && position <= state.to ? position : (state.from + state.to) / 2;
  }

  function zoomBy(factor) {
    zoom(factor, centre());
    const [first, last] = shownRange();
    live.textContent = `${label(first)} to ${label(last)}, ${pluralText(last - first + 1, "point")}`;
  }

  function pan(share) {
    const by = (state.to - state.from) * share;
    view(state.from + by, state.to + by);
  }

  function open() {
    const link = state.cursor >= 0 && linkOf(state.cursor);
    if (link) location.href = link;
    else if (state.cursor >= 0) live.textContent = describe(state.cursor);
  }

  const keys = {
    ArrowLeft: () => step(-1), ArrowRight: () => step(1), ArrowUp: () => toChange(-1), ArrowDown: () => toChange(1),
    Home: () => setCursor(0), End: () => setCursor(count - 1), PageUp: () => pan(-0.8), PageDown: () => pan(0.8),
    "+": () => zoomBy(0.5), "=": () => zoomBy(0.5), "-": () => zoomBy(2), Enter: open, Escape: reset,
    z: () => setZero(!state.zero), b: () => hasDates && setByDate(!state.byDate), s: () => nextLine(1), S: () => nextLine(-1),
    d: () => theme.toggle(), "?": help,
  };

  function help() {
    chartHelp().showModal();
  }

  function near(event) {
    const { left } = canvas.getBoundingClientRect();
    const position = positionAt(event.clientX - left);
    const [first, last] = visible();
    let best = -1, least = Infinity;
    for (let at = Math.max(first, firstFrom(positions, position) - 1); at < Math.min(last, firstFrom(positions, position) + 2); at++) {
      const far = Math.abs(positions[at] - position);
      if (far < least) [best, least] = [at, far];
    }
    return best;
  }

  function hover(event) {
    const { left, top } = canvas.getBoundingClientRect();
    state.hover = near(event);
    showStatus();
    tip.hidden = state.hover < 0;
    if (tip.hidden) return;
    tip.textContent = describe(state.hover);
    const x = event.clientX - left;
    tip.style.left = `${Math.max(0, Math.min(wide - tip.offsetWidth, x + 14))}px`;
    tip.style.top = `${Math.max(0, event.clientY - top - tip.offsetHeight - 12)}px`;
    redraw();
  }

  function save() {
    const [first, last] = shownRange();
    const isWhole = first === 0 && last === count - 1;
    address.set(id, isWhole ? "" : `${label(first)}~${label(last)}`);
    address.set(`${id}.at`, state.cursor >= 0 ? label(state.cursor) : "");
    address.set(`${id}.zero`, state.zero === Boolean(data.zero) ? "" : String(state.zero));
    address.set(`${id}.by`, state.byDate ? "date" : "");
    const hidden = lines.map((line, number) => (line.shown ? "" : number)).filter((number) => number !== "");
    address.set(`${id}.without`, hidden.join(","));
  }

  function recall() {
    const zero = address.get(`${id}.zero`);
    state.zero = zero ? zero === "true" : Boolean(data.zero);
    const without = new Set(address.get(`${id}.without`).split(",").filter(Boolean).map(Number));
    lines.forEach((line, number) => { line.shown = !without.has(number) || without.size >= lines.length; });
    state.line = Math.max(0, lines.findIndex((line) => line.shown));
    state.byDate = hasDates && address.get(`${id}.by`) === "date";
    positions = numeric || (state.byDate ? dates : inOrder);
    stripImage = null;
    state.cursor = data.labels.indexOf(address.get(`${id}.at`) || null);
    const [from, to] = address.get(id).split("~");
    const first = data.labels.indexOf(from), last = data.labels.lastIndexOf(to);
    const all = whole(), half = positions === inOrder ? 0.5 : 0;
    if (to && first >= 0 && last >= first) view(positions[first] - half, positions[last] + half);
    else view(all.from, all.to);
    showStatus();
    redraw();
  }

  function refresh() {
    showStatus();
    redraw();
    save();
  }

  function listen() {
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
      event.preventDefault();
      keys[event.key]();
      refresh();
    });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      canvas.focus({ preventScroll: true });
      const x = event.clientX - canvas.getBoundingClientRect().left;
      state.drag = { kind: "press", x, now: x };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const { drag } = state;
      if (!drag) return hover(event);
      drag.now = event.clientX - canvas.getBoundingClientRect().left;
      if (Math.abs(drag.now - drag.x) > 4) drag.kind = "range";
      tip.hidden = true;
      redraw();
    });
    canvas.addEventListener("pointerup", (event) => {
      const { drag } = state;
      state.drag = null;
      if (!drag) return;
      if (drag.kind === "range") {
        const [from, to] = [drag.x, drag.now].sort((one, other) => one - other).map(positionAt);
        view(from, to);
      } else {
        setCursor(near(event));
      }
      refresh();
    });
    for (const kind of ["pointerleave", "pointercancel"]) {
      canvas.addEventListener(kind, () => { state.drag = null; state.hover = -1; tip.hidden = true; showStatus(); redraw(); });
    }
    // The wheel belongs to the page until the chart is chosen: a page of many charts would be a trap otherwise.
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const x = event.clientX - canvas.getBoundingClientRect().left;
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) pan((event.deltaX || event.deltaY) / plotWidth());
      else zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 240))), positionAt(x));
      refresh();
    }, { passive: false });
    for (const kind of ["focus", "blur"]) canvas.addEventListener(kind, redraw);
    const toStrip = (event) => {
      const all = whole(), span = state.to - state.from;
      const x = event.clientX - strip.getBoundingClientRect().left;
      const position = all.from + ((x - CHART.left) / plotWidth()) * (all.to - all.from);
      if (state.drag === null) state.drag = { kind: "strip", by: position >= state.from && position <= state.to ? position - state.from : span / 2 };
      view(position - state.drag.by, position - state.drag.by + span);
      refresh();
    };
    strip.addEventListener("pointerdown", (event) => { strip.setPointerCapture(event.pointerId); state.drag = null; toStrip(event); });
    strip.addEventListener("pointermove", (event) => { if (state.drag && state.drag.kind === "strip") toStrip(event); });
    for (const kind of ["pointerup", "pointercancel"]) strip.addEventListener(kind, () => { state.drag = null; });
    address.onChange(recall);
    theme.onChange(() => { readColors(); stripImage = null; paintSwatches(); paint(); });
    new ResizeObserver(() => { stripImage = null; redraw(); }).observe(stage);
  }

  function paintSwatches() {
    togglers.forEach((made, number) => {
      const target = made.firstChild.getContext("2d");
      target.clearRect(0, 0, 26, 12);
      target.strokeStyle = colors.series[number];
      target.lineWidth = 3;
      if (data.points) {
        dot(target, 13, 6, false, number);
        return;
      }
      target.setLineDash(CHART.dashes[number % 6]);
      target.beginPath();
      target.moveTo(1, 6);
      target.lineTo(25, 6);
      target.stroke();
    });
  }

  for (const line of lines) line.hasBand = line.low.some((value) => value === value);
  figure.querySelector(".still").replaceWith(controls, stage, status, note, live);
  readColors();
  paintSwatches();
  recall();
  listen();
  chartTable(figure, data, (at) => valueTexts(lines, at), dateText);
  paint();
}

/** The values as a table, made when it is opened. */
function chartTable(figure, data, valueTexts, dateText) {
  const details = figure.querySelector("details.values");
  const table = details && details.querySelector("table");
  if (!table || table.tBodies[0].rows.length) return;
  const more = element("button", "Show more", { type: "button" });
  details.append(more);
  const add = () => {
    const body = table.tBodies[0], begin = body.rows.length, end = Math.min(data.labels.length, begin + CHART.rows);
    for (let at = begin; at < end; at++) {
      const head = element("th", data.labels[at], { scope: "row" });
      const cells = [dateText(at), data.notes[at] || "", ...valueTexts(at)];
      body.append(around("tr", "", head, ...cells.map((text) => element("td", text))));
    }
    more.hidden = end === data.labels.length;
  };
  more.addEventListener("click", add);
  details.addEventListener("toggle", () => { if (details.open && !table.tBodies[0].rows.length) add(); });
}

function chartHelp() {
  const old = $("chart-help");
  if (old) return old;
  const rows = [
    ["←, →", "the point before, the next point"], ["↑, ↓", "the change before, the next change"], ["Home, End", "the first and the last point"],
    ["+, −", "zoom in and out"], ["Page up, Page down", "move by most of what is shown"], ["Enter", "open the version, where there is a page of it"],
    ["Esc", "the whole range"], ["z", "the scale from zero, or fitted"], ["b", "positions by date, or in order"], ["s, S", "the next line, the one before"],
    ["d", "dark or light"], ["wheel", "zoom around the pointer, once the chart is chosen; with Ctrl always"], ["drag", "zoom to the range; in the strip below, move"],
  ];
  const dialog = element("dialog", "", { id: "chart-help" });
  const title = element("h2", "Keys", { id: "chart-help-title" });
  const close = element("form", "", { method: "dialog" });
  close.append(element("button", "Close"));
  dialog.setAttribute("aria-labelledby", title.id);
  dialog.append(title, around("dl", "", ...rows.map(([key, what]) => around("div", "", element("dt", key), element("dd", what)))),
    element("p", "Keys work while a chart has the focus. The address of the page holds what is shown."), close);
  document.body.append(dialog);
  return dialog;
}

/** A document whose large columns stand behind it, as `packed.py` says. */
function unpacked(bytes) {
  const begin = 4 + new DataView(bytes.buffer).getUint32(0, true);
  let place = begin;
  const column = (values) => {
    if (!values || !values.packed) return values;
    const [rows, planes, least] = values.packed, items = new Array(rows).fill(0);
    for (let plane = 0, worth = 1; plane < planes; plane++, worth *= 256) {
      for (let row = 0; row < rows; row++) items[row] += worth * bytes[place + row];
      place += rows;
    }
    for (let row = 0; row < rows; row++) items[row] = items[row] ? items[row] - 1 + least : null;
    return items;
  };
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, begin)));
  for (const line of head.lines) for (const key of ["values", "below", "above", "counts"]) line[key] = column(line[key]);
  head.dates = column(head.dates);
  return head;
}

const chartFiles = new Map();

/** Called by a file of data: the scripts that pages load from a disk, where nothing can be fetched. */
function chartFile(name, data) {
  chartFiles.get(name)?.(data);
}

function fileData(address) {
  const name = address.replace(/^.*\/|\.js$/g, "");
  return new Promise((resolve, reject) => {
    chartFiles.set(name, resolve);
    const script = element("script", "", { src: address });
    script.addEventListener("error", () => reject(new Error(`The file ${address} of this chart is missing.`)));
    document.head.append(script);
  });
}

/** The data of a chart: JSON, a stream of zlib, or a file of them. */
async function chartData(script) {
  if (script.dataset.file) return fileData(script.dataset.file);
  if (script.type === "application/json") return JSON.parse(script.textContent);
  if (typeof DecompressionStream === "undefined") throw new Error("This browser has no DecompressionStream, which the data of this page need.");
  const letters = atob(script.textContent), packed = new Uint8Array(letters.length);
  for (let at = 0; at < packed.length; at++) packed[at] = letters.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return unpacked(new Uint8Array(await new Response(stream).arrayBuffer()));
}

/** Draw every chart of the page when it comes into sight; until then its picture stands there. */
function drawCharts() {
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      chartData(target.querySelector("script.data")).then((data) => {
        chart(target, data);
        target.dataset.drawn = "true";
      }).catch((error) => {
        target.prepend(element("p", error.message, { className: "problem" }));
        throw error;
      });
    }
  }, { rootMargin: "300px" });
  for (const figure of document.querySelectorAll("figure.chart")) seen.observe(figure);
}

drawCharts();
