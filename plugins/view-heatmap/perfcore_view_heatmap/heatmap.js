// The map: rows over versions on a canvas, with a cursor that the keyboard moves.

const MAP = { row: 22, label: 260, narrow: 120, top: 6, bottom: 24 };

function heatmap(figure, data) {
  const { rows, labels, notes, largest, palettes } = data;
  const canvas = element("canvas", "", { className: "plot", tabIndex: 0 });
  const status = element("p", "", { className: "at", id: "map-at" });
  const live = element("p", "", { className: "unseen" });
  const context = canvas.getContext("2d");
  const stage = around("div", "stage", canvas);
  const state = { row: -1, at: -1, hover: null, from: 0, to: labels.length };
  const middle = (palettes.light.length - 1) / 2;
  let wanted = 0, wide = 0;
  live.setAttribute("role", "status");
  live.setAttribute("aria-live", "polite");
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-roledescription", "heat map");
  canvas.setAttribute("aria-label", "Map of changes. Arrow keys move between versions and series, plus and minus zoom, Escape shows the whole. The table below holds the same.");
  canvas.setAttribute("aria-describedby", status.id);

  const left = () => (wide < 560 ? MAP.narrow : MAP.label);
  // 0 has a logarithm too, as in grid.py.
  const ratio = (row, at) => (rows[row].values[at] === null ? null : Math.max(rows[row].values[at] / rows[row].baseline, 1e-12));
  const isDark = () => document.documentElement.dataset.theme === "dark";
  const step = (value) => middle + Math.round(middle * Math.max(-1, Math.min(1, Math.log(value) / Math.log(largest))));

  function percentText(value) {
    const change = (value - 1) * 100;
    if (Math.abs(change) >= 1000) return `×${Number(value.toPrecision(3))}`;
    return `${change < 0 ? "−" : "+"}${Math.abs(change).toFixed(1)} %`;
  }

  /** The version in a column of pixels that is farthest from the baseline. */
  function farthest(row, first, last) {
    let best = null, far = -1;
    for (let at = first; at < last; at++) {
      const value = ratio(row, at);
      if (value !== null && Math.abs(Math.log(value)) > far) [best, far] = [at, Math.abs(Math.log(value))];
    }
    return best;
  }

  function paint() {
    wanted = 0;
    wide = theme.isPaper() ? Math.min(stage.clientWidth, PAPER) : stage.clientWidth;
    if (!wide) return;
    const tall = MAP.top + MAP.row * rows.length + MAP.bottom, dense = window.devicePixelRatio || 1;
    [canvas.width, canvas.height] = [Math.round(wide * dense), Math.round(tall * dense)];
    canvas.style.width = `${wide}px`;
    canvas.style.height = `${tall}px`;
    context.setTransform(dense, 0, 0, dense, 0, 0);
    const style = getComputedStyle(figure), color = (name) => style.getPropertyValue(`--${name}`).trim();
    const isForced = theme.isForced(), scale = palettes[isDark() ? "dark" : "light"];
    context.fillStyle = isForced ? "Canvas" : color("surface");
    context.fillRect(0, 0, wide, tall);
    context.font = "12px system-ui, -apple-system, 'Segoe UI', sans-serif";
    context.textBaseline = "middle";
    const room = wide - left() - 8, count = state.to - state.from, columns = Math.min(count, Math.round(room)), size = room / columns;
    rows.forEach(({ name }, row) => {
      const y = MAP.top + MAP.row * row;
      context.fillStyle = isForced ? "CanvasText" : color("text");
      context.textAlign = "right";
      const most = Math.floor((left() - 14) / 6.4);
      context.fillText(name.length > most ? `${name.slice(0, most - 1)}…` : name, left() - 8, y + MAP.row / 2, left() - 12);
      for (let column = 0; column < columns; column++) {
        const first = state.from + Math.floor((column * count) / columns);
        const at = farthest(row, first, Math.max(first + 1, state.from + Math.floor(((column + 1) * count) / columns)));
        if (at === null) continue;
        const value = ratio(row, at);
        context.fillStyle = isForced ? "GrayText" : scale[step(value)];
        context.fillRect(left() + column * size, y + 1, size - (size > 4 ? 1 : 0), MAP.row - 2);
        // A sign as well as a colour, where there is room.
        if (size > 12 && step(value) !== middle) {
          context.fillStyle = isForced ? "Canvas" : data.inks[isDark() ? "dark" : "light"][step(value)];
          context.textAlign = "center";
          context.fillText(value > 1 ? "+" : "−", left() + (column + 0.5) * size, y + MAP.row / 2);
        }
      }
    });
    context.fillStyle = isForced ? "CanvasText" : color("soft");
    context.textAlign = "left";
    context.fillText(labels[state.from], left(), tall - MAP.bottom / 2);
    context.textAlign = "right";
    context.fillText(labels[state.to - 1], wide - 8, tall - MAP.bottom / 2);
    if (document.activeElement === canvas && state.row >= 0 && state.at >= state.from && state.at < state.to) {
      context.strokeStyle = isForced ? "Highlight" : color("text");
      context.lineWidth = 2;
      const x = left() + ((state.at - state.from) / count) * room;
      context.strokeRect(x, MAP.top + MAP.row * state.row, Math.max(3, room / count), MAP.row);
    }
  }

  function describe({ row, at }) {
    if (row < 0 || at < 0) return data.hint;
    const value = ratio(row, at);
    const words = value === null ? "not measured" : `${quantityText(rows[row].values[at], rows[row].unit)}, ${percentText(value)}`;
    return [rows[row].name, labels[at], notes[at], words].filter(Boolean).join(", ");
  }

  function redraw() {
    wanted ||= requestAnimationFrame(paint);
  }

  function refresh(isSaid = true) {
    status.textContent = describe(state.hover || state);
    if (isSaid && state.row >= 0) live.textContent = `${describe(state)}; series ${state.row + 1} of ${rows.length}`;
    address.set("at", state.at >= 0 ? labels[state.at] : "");
    address.set("row", state.row > 0 ? String(state.row) : "");
    address.set("range", state.to - state.from < labels.length ? `${labels[state.from]}~${labels[state.to - 1]}` : "");
    redraw();
  }

  function move(rowBy, atBy) {
    state.row = Math.max(0, Math.min(rows.length - 1, state.row < 0 ? 0 : state.row + rowBy));
    state.at = Math.max(0, Math.min(labels.length - 1, state.at < 0 ? labels.length - 1 : state.at + atBy));
    if (state.at < state.from || state.at >= state.to) shift(state.at < state.from ? state.at : state.at - (state.to - state.from) + 1);
  }

  function shift(from) {
    const span = state.to - state.from;
    state.from = Math.max(0, Math.min(labels.length - span, from));
    state.to = state.from + span;
  }

  function zoom(factor, around) {
    const span = Math.max(Math.min(5, labels.length), Math.min(labels.length, Math.round((state.to - state.from) * factor)));
    const share = (around - state.from) / (state.to - state.from);
    state.to = state.from + span;
    shift(Math.round(around - share * span));
  }

  const centre = () => (state.at >= state.from && state.at < state.to ? state.at : (state.from + state.to) / 2);
  const keys = {
    ArrowLeft: () => move(0, -1), ArrowRight: () => move(0, 1), ArrowUp: () => move(-1, 0), ArrowDown: () => move(1, 0),
    Home: () => move(0, -labels.length), End: () => move(0, labels.length), d: () => theme.toggle(),
    "+": () => zoom(0.5, centre()), "=": () => zoom(0.5, centre()), "-": () => zoom(2, centre()), Escape: () => { [state.from, state.to] = [0, labels.length]; },
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    state.hover = null;
    keys[event.key]();
    refresh();
  });

  function cellAt(event) {
    const box = canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top - MAP.top) / MAP.row), room = wide - left() - 8;
    const share = (event.clientX - box.left - left()) / room;
    if (row < 0 || row >= rows.length || share < 0 || share >= 1) return null;
    const count = state.to - state.from, columns = Math.min(count, Math.round(room)), column = Math.floor(share * columns);
    const first = state.from + Math.floor((column * count) / columns);
    const at = farthest(row, first, Math.max(first + 1, state.from + Math.floor(((column + 1) * count) / columns)));
    return { row, at: at === null ? first : at };
  }

  canvas.addEventListener("pointermove", (event) => { state.hover = cellAt(event); refresh(false); });
  canvas.addEventListener("pointerleave", () => { state.hover = null; refresh(false); });
  canvas.addEventListener("pointerdown", (event) => {
    const cell = cellAt(event);
    canvas.focus({ preventScroll: true });
    if (cell) Object.assign(state, cell);
    refresh();
  });
  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const cell = cellAt(event);
    if (event.shiftKey || event.deltaX) shift(state.from + Math.sign(event.deltaX || event.deltaY) * Math.max(1, Math.round((state.to - state.from) / 10)));
    else zoom(event.deltaY < 0 ? 0.8 : 1.25, cell ? cell.at : centre());
    refresh(false);
  }, { passive: false });
  for (const kind of ["focus", "blur"]) canvas.addEventListener(kind, redraw);

  function recall() {
    state.at = labels.indexOf(address.get("at") || null);
    state.row = state.at < 0 ? -1 : Math.max(0, Math.min(rows.length - 1, Number(address.get("row")) || 0));
    const [from, to] = address.get("range").split("~").map((label) => labels.indexOf(label));
    [state.from, state.to] = from >= 0 && to >= from ? [from, to + 1] : [0, labels.length];
    refresh(false);
  }

  figure.querySelector(".still").replaceWith(stage, status, live);
  address.onChange(recall);
  theme.onChange(paint);
  new ResizeObserver(redraw).observe(stage);
  recall();
  paint();
  figure.dataset.drawn = "true";
}

heatmap($("map"), JSON.parse($("data").textContent));
