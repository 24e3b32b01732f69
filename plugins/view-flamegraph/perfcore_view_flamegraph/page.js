// The page.

function themeOf(profile, dark) {
  if (matchMedia("(forced-colors: active)").matches) {
    return {
      forced: true, background: "Canvas", text: "CanvasText", root: "Canvas", cursor: "Highlight",
      match: "Highlight", matchText: "HighlightText", quiet: "Canvas", quietText: "CanvasText",
    };
  }
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(`--${name}`).trim();
  const palette = profile.head.palettes[dark ? "dark" : "light"];
  return {
    ...palette, background: color("surface"), root: color("root"), cursor: color("text"), match: color("match"),
    matchText: color("match-text"), quiet: color("quiet"), quietText: color("quiet-text"),
  };
}

/** Text cut to so many pixels, with an ellipsis where something is missing. */
function fitter(context) {
  const widths = new Map();
  const measure = (text) => {
    if (!widths.has(text)) {
      if (widths.size > 20000) widths.clear();
      widths.set(text, context.measureText(text).width);
    }
    return widths.get(text);
  };
  return (text, room) => {
    const most = text.slice(0, Math.ceil(room)); // no letter is narrower than a pixel
    if (most.length === text.length && measure(text) <= room) return text;
    let fits = 0, not = most.length + 1;
    while (not - fits > 1) {
      const middle = (fits + not) >> 1;
      if (measure(`${most.slice(0, middle)}…`) <= room) fits = middle;
      else not = middle;
    }
    return fits ? `${most.slice(0, fits)}…` : "";
  };
}

function start(profile) {
  const { head } = profile;
  const canvas = $("canvas"), stage = $("stage"), context = canvas.getContext("2d");
  const fit = fitter(context);
  const orders = ordersOf(head.names);
  const haystacks = head.names.map((name, frame) => `${name} ${head.places[frame]}`.toLowerCase());
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const table = { rows: [], columns: [], by: null, falling: true, shown: PAGE_OF_ROWS };
  let state, tree, rows = [], matching = null, theme, drawn = null, grown = 0, drag = null, motion = 0, wanted = 0, saving = 0;

  // What is shown.

  const order = () => orders[state.order];
  const whole = () => ({ from: 0, to: tree.total(ROOT) });
  const unit = () => head.metrics[state.metric].unit;
  const dark = () => (state.theme ? state.theme === "dark" : systemDark.matches);

  function plant(path) {
    tree = (state.inverted ? inverted : downwards)(profile, state.metric);
    state.zoom = follow(tree, path, order());
    state.cursor = state.zoom;
    state.hover = null;
    state.back = [];
    jumpTo(intervalOf(tree, state.zoom, order()));
    grown = 0;
  }

  function jumpTo(view) {
    motion++;
    state.view = drawn = view;
  }

  function replant() {
    plant(pathOf(tree, state.zoom));
    refresh({ table: true });
  }

  function moveTo(view, zoom, { isBack = false } = {}) {
    if (!isBack) state.back.push({ view: state.view, zoom: state.zoom });
    state.zoom = zoom;
    state.view = view;
    animate();
    refresh({});
  }

  const zoomTo = (node) => moveTo(intervalOf(tree, node, order()), node);

  function back() {
    const last = state.back.pop();
    if (last) moveTo(last.view, last.zoom, { isBack: true });
    else if (state.zoom !== ROOT || state.view.to < whole().to || state.view.from > 0) moveTo(whole(), ROOT, { isBack: true });
  }

  /** The view from here to there, kept within the whole; the zoom is the innermost function that fills it. */
  function windowTo(from, to) {
    const all = whole().to;
    const span = Math.min(all, Math.max(to - from, all * 1e-9));
    const left = Math.max(0, Math.min(from, all - span));
    const view = { from: left, to: left + span };
    let node = ROOT, at = 0;
    for (let found = true; found; ) {
      found = false;
      let child = at;
      for (const each of childrenOf(tree, node, order())) {
        if (child <= view.from && child + tree.total(each) >= view.to) {
          [node, at, found] = [each, child, true];
          break;
        }
        child += tree.total(each);
        if (child > view.from) break;
      }
    }
    jumpTo(view);
    state.zoom = node;
    refresh({ soon: true });
  }

  function search(text) {
    state.search = text;
    const needle = text.trim().toLowerCase();
    matching = needle ? Uint8Array.from(haystacks, (text) => (text.includes(needle) ? 1 : 0)) : null;
    table.shown = PAGE_OF_ROWS;
    refresh({ table: true });
  }

  /** How much of what is shown is in stacks with a match, counted once. */
  function matched() {
    const inside = new Uint8Array(profile.size);
    for (let node = 1; node < profile.size; node++) {
      inside[node] = matching[profile.frame[node]] || inside[profile.parent[node]];
    }
    const { own } = profile.amounts[state.metric];
    let sum = 0;
    for (const node of tree.nodes(state.zoom)) if (inside[node]) sum += own[node];
    return sum;
  }

  function describe(node) {
    const total = tree.total(node), all = tree.total(ROOT), sides = tree.sides(node), own = tree.own(node);
    const frame = tree.frame(node);
    const facts = [];
    if (sides) {
      const [before, after] = sides.map((side) => quantity(side, unit()));
      facts.push(`${changed(sides)}: ${before} → ${after} (${signed(sides[1] - sides[0], unit())})`);
    } else {
      if (own !== null) facts.push(`own ${quantity(own, unit())} (${percent(own, all)})`);
      facts.push(`total ${quantity(total, unit())} (${percent(total, all)})`);
      if (state.zoom !== ROOT) facts.push(`${percent(total, tree.total(state.zoom))} of what is shown`);
    }
    return { name: head.names[frame], place: head.places[frame], facts: `${head.metrics[state.metric].name}: ${facts.join(", ")}` };
  }

  // Drawing.

  function layoutFor(width) {
    rows = layout(tree, drawn, width, order());
    const height = rows.length * ROW + 1;
    grown = Math.max(grown, height);
    $("room").style.height = `${state.flame ? grown : height}px`;
    stage.style.height = `${grown + 2}px`;
    return stage.clientWidth;
  }

  function measureStage() {
    let width = stage.clientWidth;
    const without = layoutFor(width);
    if (without !== width) width = layoutFor(without); // a scroll bar has come or gone
    const tall = Math.min(stage.clientHeight, grown);
    const dense = window.devicePixelRatio || 1;
    const size = [Math.round(width * dense), Math.round(tall * dense)];
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${tall}px`;
    context.setTransform(dense, 0, 0, dense, 0, 0);
    return { width, tall };
  }

  const bottom = () => Math.max(grown, canvas.clientHeight);
  const topOf = (level) => (state.flame ? bottom() - (level + 1) * ROW : level * ROW) - stage.scrollTop;
  const levelAt = (y) => Math.floor((state.flame ? bottom() - y - stage.scrollTop : y + stage.scrollTop) / ROW);

  function paint() {
    wanted = 0;
    const { width, tall } = measureStage();
    context.fillStyle = theme.background;
    context.fillRect(0, 0, width, tall);
    context.font = FONT;
    context.textBaseline = "middle";
    context.direction = "ltr";
    rows.forEach((row, level) => {
      const top = topOf(level);
      if (top > -ROW && top < tall) for (const box of row) paintBox(box, top, width);
    });
    for (const node of new Set([state.hover, document.activeElement === canvas ? state.cursor : null])) {
      if (node !== null) outline(node, width);
    }
  }

  function paintBox(box, top, width) {
    const left = Math.max(0, box.left), right = Math.min(width, box.left + box.width);
    const gap = right - left > 3 ? 1 : 0;
    const [fill, ink] = box.smaller ? [theme.quiet, theme.quietText] : colorsOf(box.node);
    context.fillStyle = fill;
    context.fillRect(left, top, right - left - gap, ROW - 1);
    if (theme.forced) {
      context.strokeStyle = theme.text;
      context.strokeRect(left + 0.5, top + 0.5, right - left - 1, ROW - 1);
    }
    if (right - left < 22) return;
    const shown = fit(box.smaller ? `${box.smaller.toLocaleString("en")} smaller` : labelOf(box.node), right - left - 9);
    context.fillStyle = ink;
    if (shown) context.fillText(shown, left + 4, top + ROW / 2 - 0.5);
  }

  function labelOf(node) {
    const sides = tree.sides(node), name = head.names[tree.frame(node)];
    return sides && sides[0] !== sides[1] ? `${sign(sides)}  ${name}` : name;
  }

  function colorsOf(node) {
    const frame = tree.frame(node), sides = tree.sides(node);
    if (matching) return matching[frame] ? [theme.match, theme.matchText] : [theme.quiet, theme.quietText];
    if (theme.forced) return [theme.root, theme.text];
    if (sides) return [theme.changes[stepOf(sides)], theme.text];
    return [node === ROOT ? theme.root : theme.frames[head.slots[frame]], theme.text];
  }

  function stepOf([before, after]) {
    const same = (theme.changes.length - 1) / 2;
    const largest = Math.max(before, after);
    return same + (largest ? Math.round((same * (after - before)) / largest) : 0);
  }

  function boxOf(node) {
    for (let level = 0; level < rows.length; level++) {
      const box = rows[level].find((each) => each.node === node);
      if (box) return { ...box, level };
    }
    const { from } = intervalOf(tree, node, order());
    return { left: ((from - drawn.from) / (drawn.to - drawn.from)) * stage.clientWidth, width: 0, level: levelOf(node) };
  }

  function levelOf(node) {
    let level = 0;
    for (let at = node; tree.parent(at) >= 0; at = tree.parent(at)) level++;
    return level;
  }

  /** A frame around a box, wide enough to be found however thin the box is. */
  function outline(node, width) {
    const box = boxOf(node);
    const left = Math.max(1, Math.min(width - 4, box.left)), right = Math.min(width - 1, box.left + box.width);
    context.strokeStyle = theme.cursor;
    context.lineWidth = 2;
    context.strokeRect(left, topOf(box.level) + 1, Math.max(3, right - left - 1), ROW - 3);
    context.lineWidth = 1;
  }

  function redraw() {
    wanted ||= requestAnimationFrame(paint);
  }

  function animate() {
    const from = drawn, to = state.view, began = performance.now(), mine = ++motion;
    if (calm.matches) {
      drawn = to;
      return;
    }
    const step = (now) => {
      if (mine !== motion) return;
      const part = Math.min(1, Math.max(0, (now - began) / 160)), eased = 1 - (1 - part) ** 3;
      drawn = part < 1
        ? { from: from.from + (to.from - from.from) * eased, to: from.to + (to.to - from.to) * eased }
        : state.view;
      redraw();
      if (part < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  // Everything beside the canvas.

  /** With `soon`, the address is not written at every step of a movement: browsers refuse too many. */
  function refresh({ table: withTable = false, soon = false }) {
    theme = themeOf(profile, dark());
    redraw();
    showFound();
    showLine();
    if (withTable) showTable();
    clearTimeout(saving);
    if (soon) saving = setTimeout(remember, 200);
    else remember();
  }

  function showFound() {
    let text = "";
    if (matching) {
      const sum = matched(), count = matching.reduce((so, each) => so + each, 0);
      const where = state.zoom === ROOT ? "of the whole" : "of what is shown";
      text = `${percent(sum, tree.total(state.zoom))} ${where} (${quantity(sum, unit())}) is in ${count.toLocaleString("en")} ` +
        `matching ${count === 1 ? "function" : "functions"}`;
    }
    if ($("found").textContent !== text) $("found").textContent = text;
  }

  function showLine() {
    const { name, place, facts } = describe(state.hover === null ? state.cursor : state.hover);
    $("line").replaceChildren(element("strong", name), ` ${place} · ${facts}`);
  }

  function tell() {
    const { name, place, facts } = describe(state.cursor);
    const parent = tree.parent(state.cursor);
    const peers = parent < 0 ? [state.cursor] : childrenOf(tree, parent, order());
    const below = childrenOf(tree, state.cursor, order()).length;
    $("live").textContent = [name, place, facts, `level ${levelOf(state.cursor) + 1}`,
      `${peers.indexOf(state.cursor) + 1} of ${peers.length}`,
      `${below} ${state.inverted ? "callers" : "called"}`].filter(Boolean).join(", ");
  }

  function showTip(event) {
    const tip = $("tip");
    tip.hidden = state.hover === null;
    if (tip.hidden) return;
    const { name, place, facts } = describe(state.hover);
    tip.replaceChildren(element("b", name), element("div", place), element("div", facts));
    const { offsetWidth: wide, offsetHeight: tall } = tip;
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - wide - 8))}px`;
    tip.style.top = `${event.clientY + 18 + tall > innerHeight ? event.clientY - tall - 12 : event.clientY + 18}px`;
  }

  function showLegend() {
    const { difference } = head.metrics[state.metric];
    $("legend").hidden = !difference;
    if (!difference) return;
    const { changes } = head.palettes[dark() ? "dark" : "light"];
    const [before, after] = head.sides;
    const words = [["gone", 0], ["less", 0.2], ["the same", 0.5], ["more", 0.8], ["new", 1]];
    $("legend").replaceChildren(
      ...words.map(([word, at]) => {
        const item = element("li", ""), swatch = element("i", "");
        swatch.style.background = changes[Math.round(at * (changes.length - 1))];
        item.append(swatch, word);
        return item;
      }),
      element("li", `from ${before} to ${after}; a box is as wide as the larger of both`),
    );
  }

  function showTable() {
    const needle = state.search.trim();
    const rows = table.rows.filter((row) => !matching || matching[row.frame]);
    const shown = sortedRows(rows, table.columns[table.by], table.falling).slice(0, table.shown);
    $("table").tHead.replaceChildren(element("tr", ""));
    $("table").tHead.rows[0].append(...table.columns.map(headingOf));
    $("table").tBodies[0].replaceChildren(...shown.map(rowOf));
    $("rows").textContent = `${head.metrics[state.metric].name}: ${shown.length.toLocaleString("en")} of ` +
      `${rows.length.toLocaleString("en")} functions${needle ? ` that match “${needle}”` : ""}`;
    $("more").hidden = shown.length === rows.length;
  }

  function headingOf(column, number) {
    const cell = element("th", "", { scope: "col" });
    const sorted = number === table.by;
    cell.setAttribute("aria-sort", sorted ? (table.falling ? "descending" : "ascending") : "none");
    const button = element("button", `${column.title}${sorted ? (table.falling ? " ▾" : " ▴") : ""}`, { type: "button" });
    button.addEventListener("click", () => {
      table.falling = sorted ? !table.falling : Boolean(column.number);
      table.by = number;
      showTable();
      $("table").tHead.rows[0].cells[number].firstChild.focus();
    });
    cell.append(button);
    return cell;
  }

  function rowOf(row) {
    const line = element("tr", "");
    line.append(...table.columns.map((column) => element("td", column.show ? column.show(row) : column.value(row))));
    const button = element("button", line.cells[0].textContent, { type: "button", title: "Search for it" });
    button.addEventListener("click", () => setSearch(head.names[row.frame]));
    line.cells[0].replaceChildren(button);
    return line;
  }

  function fillTable() {
    table.rows = byFunction(profile, state.metric);
    table.columns = columnsOf(profile, state.metric);
    table.by = 2;
    table.falling = true;
  }

  function setSearch(text) {
    $("search").value = text;
    search(text);
  }

  function setTheme() {
    document.documentElement.dataset.theme = dark() ? "dark" : "light";
    showLegend();
  }

  // The address of the page holds what is shown.

  function remember() {
    const words = new URLSearchParams();
    const put = (key, value) => value && words.set(key, value);
    put("metric", state.metric && head.metrics[state.metric].name);
    put("search", state.search);
    put("zoom", pathOf(tree, state.zoom));
    const { from, to } = intervalOf(tree, state.zoom, order());
    const view = state.view, all = tree.total(ROOT);
    put("window", (view.from !== from || view.to !== to) && [view.from, view.to].map((at) => Number((at / all).toPrecision(7))).join("~"));
    put("order", state.order !== head.start.order && state.order);
    put("inverted", state.inverted !== head.start.inverted && String(state.inverted));
    put("flame", state.flame !== head.start.flame && String(state.flame));
    put("theme", state.theme);
    const text = `#${words}`;
    if (text === (location.hash || "#")) return;
    try {
      history.replaceState(null, "", text);
    } catch {
      // A page within another one may not change its address; it works without.
    }
  }

  function recall() {
    const words = new URLSearchParams(location.hash.slice(1));
    const metric = head.metrics.findIndex(({ name }) => name === (words.get("metric") || head.start.metric));
    const truth = (key) => (words.has(key) ? words.get(key) === "true" : head.start[key]);
    state = {
      metric: Math.max(0, metric), search: words.get("search") || "", inverted: truth("inverted"), flame: truth("flame"),
      order: Object.hasOwn(orders, words.get("order")) ? words.get("order") : head.start.order,
      theme: ["light", "dark"].includes(words.get("theme")) ? words.get("theme") : "",
    };
    plant(words.get("zoom") || "");
    const [from, to] = (words.get("window") || "").split("~").map((part) => Number(part) * whole().to);
    if (to > from) jumpTo({ from: Math.max(0, from), to: Math.min(to, whole().to) });
    fillTable();
    setTheme();
    showControls();
    setSearch(state.search);
    if (state.flame) toRoot();
  }

  function showControls() {
    $("metric").value = String(state.metric);
    $("order").value = state.order;
    const pressed = { invert: state.inverted, flip: state.flame, theme: dark() };
    for (const [id, is] of Object.entries(pressed)) $(id).setAttribute("aria-pressed", is);
  }

  function toRoot() {
    measureStage();
    stage.scrollTop = state.flame ? grown : 0;
  }

  // What people do.

  function invert() {
    state.inverted = !state.inverted;
    plant("");
    showControls();
    refresh({});
    toRoot();
  }

  function flip() {
    state.flame = !state.flame;
    showControls();
    refresh({});
    toRoot();
  }

  function chooseOrder(name) {
    state.order = name;
    showControls();
    replant();
  }

  function chooseMetric(number) {
    state.metric = number;
    fillTable();
    showLegend();
    showControls();
    replant();
  }

  function toggleTheme() {
    state.theme = dark() ? "light" : "dark";
    setTheme();
    showControls();
    refresh({});
  }

  function setCursor(node) {
    state.cursor = node;
    state.hover = null;
    $("tip").hidden = true;
    const { from, to } = intervalOf(tree, node, order());
    if (from < state.view.from - 1e-9 * to || from >= state.view.to) zoomTo(Math.max(ROOT, tree.parent(node)));
    const top = topOf(levelOf(node));
    if (top < 0) stage.scrollTop += top - ROW;
    else if (top + ROW > stage.clientHeight) stage.scrollTop += top + 2 * ROW - stage.clientHeight;
    showLine();
    tell();
    redraw();
  }

  const up = () => setCursor(Math.max(ROOT, tree.parent(state.cursor)));
  const down = () => {
    const [first] = childrenOf(tree, state.cursor, order());
    if (first !== undefined) setCursor(first);
  };

  function aside(step) {
    const parent = tree.parent(state.cursor);
    if (parent < 0) return;
    const peers = childrenOf(tree, parent, order());
    const next = peers[peers.indexOf(state.cursor) + step];
    if (next !== undefined) setCursor(next);
  }

  function nextMatch(step) {
    if (!matching) return;
    const found = rows.flat().filter((box) => !box.smaller && matching[tree.frame(box.node)]).map((box) => box.node);
    const at = found.indexOf(state.cursor);
    if (found.length) setCursor(found[at < 0 ? (step > 0 ? 0 : found.length - 1) : (at + step + found.length) % found.length]);
  }

  const next = (list, value) => list[(list.indexOf(value) + 1) % list.length];
  const keys = {
    ArrowUp: () => (state.flame ? down() : up()),
    ArrowDown: () => (state.flame ? up() : down()),
    ArrowLeft: () => aside(-1),
    ArrowRight: () => aside(1),
    Enter: () => zoomTo(state.cursor),
    " ": () => zoomTo(state.cursor),
    Escape: back,
    Backspace: back,
    Home: () => { moveTo(whole(), ROOT); setCursor(ROOT); },
    "/": () => $("search").select(),
    n: () => nextMatch(1),
    N: () => nextMatch(-1),
    i: invert,
    f: flip,
    d: toggleTheme,
    o: () => chooseOrder(next(Object.keys(orders), state.order)),
    m: () => chooseMetric((state.metric + 1) % head.metrics.length),
    "?": () => $("help").showModal(),
  };

  function press(event) {
    if (event.defaultPrevented || $("help").open) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "f" && document.activeElement !== $("search")) {
      event.preventDefault();
      $("search").select();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = [canvas, document.body].includes(event.target) && keys[event.key];
    if (!action) return;
    event.preventDefault();
    canvas.focus({ preventScroll: true });
    $("tip").hidden = true;
    action();
  }

  function nodeAt(event) {
    const { left, top } = canvas.getBoundingClientRect();
    const x = event.clientX - left;
    const row = rows[levelAt(event.clientY - top)] || [];
    const box = row.find((each) => x >= each.left && x < each.left + Math.max(1, each.width));
    return box ? box.node : null;
  }

  function hover(event) {
    const node = nodeAt(event);
    if (node !== state.hover) {
      state.hover = node;
      showLine();
      redraw();
    }
    showTip(event);
  }

  function pan(pixels, from = state.view) {
    const amount = (pixels / stage.clientWidth) * (from.to - from.from);
    windowTo(from.from + amount, from.to + amount);
  }

  function wheel(event) {
    const sideways = event.deltaX || (event.shiftKey ? event.deltaY : 0);
    if (event.ctrlKey || event.metaKey || event.altKey) {
      const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200)));
      const { from, to } = state.view;
      const at = from + ((event.clientX - canvas.getBoundingClientRect().left) / stage.clientWidth) * (to - from);
      windowTo(at - (at - from) * factor, at + (to - at) * factor);
    } else if (sideways) {
      pan(sideways);
    } else {
      return;
    }
    event.preventDefault();
  }

  function release(event) {
    const dragged = drag && drag.moved;
    drag = null;
    const node = nodeAt(event);
    if (dragged || node === null || event.button) return;
    state.cursor = node;
    zoomTo(node);
  }

  function dragOrHover(event) {
    if (drag && Math.abs(event.clientX - drag.x) > 4) drag.moved = true;
    if (drag && drag.moved) pan(drag.x - event.clientX, drag.view);
    else hover(event);
  }

  function leave(event) {
    drag = null;
    state.hover = null;
    showTip(event);
    showLine();
    redraw();
  }

  function listen() {
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, view: state.view, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", dragOrHover);
    canvas.addEventListener("pointerup", release);
    for (const kind of ["pointerleave", "pointercancel"]) canvas.addEventListener(kind, leave);
    canvas.addEventListener("wheel", wheel, { passive: false });
    for (const kind of ["focus", "blur"]) canvas.addEventListener(kind, redraw);
    stage.addEventListener("scroll", redraw);
    document.addEventListener("keydown", press);
    $("search").addEventListener("input", () => search($("search").value));
    $("search").addEventListener("keydown", (event) => {
      if (event.key === "Enter") nextMatch(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") { setSearch(""); canvas.focus(); }
    });
    $("metric").addEventListener("change", () => chooseMetric(Number($("metric").value)));
    $("order").addEventListener("change", () => chooseOrder($("order").value));
    const buttons = { invert, flip, theme: toggleTheme, whole: keys.Home, "help-button": keys["?"] };
    for (const [id, action] of Object.entries(buttons)) $(id).addEventListener("click", action);
    $("more").addEventListener("click", () => { table.shown += 4 * PAGE_OF_ROWS; showTable(); });
    window.addEventListener("hashchange", recall);
    new ResizeObserver(redraw).observe(stage);
    systemDark.addEventListener("change", () => { setTheme(); showControls(); refresh({}); });
    matchMedia("(forced-colors: active)").addEventListener("change", () => refresh({}));
  }

  $("metric").replaceChildren(...head.metrics.map(({ name }, number) => element("option", name, { value: String(number) })));
  $("metric-label").hidden = head.metrics.length < 2;
  recall();
  listen();
}

unpack($("data").textContent)
  .then((bytes) => start(readProfile(bytes)))
  .catch((error) => {
    $("problem").hidden = false;
    $("problem").textContent = error.message;
    throw error;
  });
