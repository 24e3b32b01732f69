// The page.

const FOLDS = { r: "recursion", l: "libraries", p: "import machinery" };

function themeOf(head, dark, isForced) {
  if (isForced) {
    return {
      forced: true, background: "Canvas", text: "CanvasText", root: "Canvas", thin: "GrayText", cursor: "Highlight",
      match: "Highlight", matchText: "HighlightText", quiet: "Canvas", quietText: "CanvasText",
    };
  }
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(`--${name}`).trim();
  const palette = head.palettes[dark ? "dark" : "light"];
  return {
    ...palette, background: color("surface"), root: color("root"), cursor: color("text"), match: color("match"),
    matchText: color("match-text"), quiet: color("quiet"), quietText: color("quiet-text"),
  };
}

function start(source) {
  const { head } = source;
  const orders = ordersOf(head.names);
  const haystacks = head.names.map((name, frame) => `${name} ${head.places[frame]}`);
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const forced = matchMedia("(forced-colors: active)");
  const paper = matchMedia("print"); // which is light
  const table = { rows: [], columns: [], by: null, falling: true, shown: PAGE_OF_ROWS };
  let state, profile, theme, matching = null, mistake = "", saving = 0, active;

  // What is shown.

  const isTimed = head.samples === 2;
  const isDifference = () => (head.kind === "difference" && metric().columns > 1) || (head.kind === "history" && state.base >= 0);
  const inTimeOrder = () => state.order === "time" && !state.inverted && state.sandwich < 0;
  const order = () => orders[state.order === "time" && !inTimeOrder() ? "value" : state.order];
  const metric = () => head.metrics[state.metric];
  const unit = () => metric().unit;
  const dark = () => !paper.matches && (state.theme ? state.theme === "dark" : systemDark.matches);
  const sides = () => (head.kind === "difference" ? head.sides : [head.versions[state.base].name, head.versions[state.version].name]);

  const page = {
    order, calm: matchMedia("(prefers-reduced-motion: reduce)"), paper,
    theme: () => theme,
    flame: (pane) => (pane === callers ? true : state.sandwich < 0 && state.flame),
    colors: colorsOf, label: labelOf,
    moved: (pane, { soon = false }) => refresh({ soon }),
    entered(pane) { active = pane; showLine(); },
    aimed(pane, { quiet = false } = {}) {
      active = pane;
      $("tip").hidden = true;
      showLine();
      showChosen();
      if (!quiet) tell();
    },
    hovered(pane, event, changed) {
      active = pane;
      if (changed) showLine();
      showTip(event);
    },
    painted(pane) { if (pane === main) minimap(); },
  };
  const main = new Pane("canvas", page), callers = new Pane("callers", page);
  active = main;

  /** The profile as the rules leave it, and the trees of it. */
  function plant(path) {
    const base = { ...source, ...chosenAmounts(source, state) };
    const ruledProfile = ruled(base, head.kinds, state);
    profile = ruledProfile.profile;
    if (inTimeOrder()) {
      profile = inTime(profile, ruledProfile.place, source.samples, source.samples.values[state.metric], state.thread);
    }
    const sandwich = state.sandwich >= 0;
    $("callers").parentElement.parentElement.hidden = !sandwich;
    $("callers-title").hidden = $("callees-title").hidden = !sandwich;
    if (sandwich) {
      callers.plant(downwards(callersOf(profile, state.sandwich, head.names.length)), "");
      main.plant(downwards(calleesOf(profile, state.sandwich, head.names.length)), path);
    } else {
      main.plant((state.inverted ? inverted : downwards)(profile), path);
    }
    active = main;
    map.tree = null;
  }

  /** Everything anew, with the zoom where it was as far as that is still there. */
  function replant({ keep = true, withTable = true } = {}) {
    plant(keep ? pathOf(main.tree, main.zoom) : "");
    if (withTable) fillTable();
    showControls();
    refresh({ table: withTable });
    if (!keep) main.toRoot();
  }

  function search(text) {
    state.search = text;
    const needle = text.trim();
    mistake = "";
    matching = null;
    if (needle) {
      const test = tester(needle);
      matching = test && Uint8Array.from(haystacks, (hay) => (test(hay) ? 1 : 0));
    }
    table.shown = PAGE_OF_ROWS;
    map.tree = null;
    refresh({ table: true });
  }

  function tester(needle) {
    if (!state.regex) {
      const lower = needle.toLowerCase();
      return (hay) => hay.toLowerCase().includes(lower);
    }
    try {
      const expression = new RegExp(needle, "iu");
      return (hay) => expression.test(hay);
    } catch (error) {
      mistake = error.message;
      return null;
    }
  }

  /** How much of what is shown is in stacks with a match, counted once. */
  function matched() {
    const tree = main.tree, shown = state.sandwich < 0 ? profile : tree.profile;
    const inside = new Uint8Array(shown.size);
    for (let node = 1; node < shown.size; node++) {
      inside[node] = matching[shown.frame[node]] || inside[shown.parent[node]];
    }
    let sum = 0;
    for (const node of tree.nodes(main.zoom)) if (inside[node]) sum += shown.own[node];
    return sum;
  }

  function describe(pane, node) {
    const { tree } = pane;
    const total = tree.total(node), all = tree.total(ROOT), both = tree.sides(node), own = tree.own(node);
    const frame = tree.frame(node);
    const facts = [];
    if (both) {
      const [before, after] = both.map((side) => quantity(side, unit()));
      facts.push(`${changed(both)}: ${before} → ${after} (${signed(changeOf(...both), unit())})`);
      if (isQuiet(frame)) facts.push("within the noise");
    } else {
      if (own !== null && pane === main) facts.push(`own ${quantity(own, unit())} (${percent(own, all)})`);
      facts.push(`total ${quantity(total, unit())} (${percent(total, all)})`);
      if (pane.zoom !== ROOT) facts.push(`${percent(total, tree.total(pane.zoom))} of what is shown`);
    }
    return { name: head.names[frame], place: head.places[frame], facts: `${metric().name}: ${facts.join(", ")}` };
  }

  // Colours.

  function labelOf(tree, node) {
    const both = tree.sides(node), name = head.names[tree.frame(node)];
    return [name, both && changeOf(...both) ? sign(both) : ""];
  }

  const isQuiet = (frame) => Boolean(head.quiet && head.quiet[state.metric] && head.quiet[state.metric][frame]);

  function colorsOf(tree, node) {
    const frame = tree.frame(node), both = tree.sides(node);
    if (matching) return matching[frame] ? [theme.match, theme.matchText] : [theme.quiet, theme.quietText];
    if (theme.forced) return [theme.root, theme.text];
    if (both) return [theme.changes[isQuiet(frame) ? (theme.changes.length - 1) / 2 : stepOf(both)], theme.text];
    return [node === ROOT && state.sandwich < 0 ? theme.root : theme.frames[head.slots[frame]], theme.text];
  }

  function stepOf([before, after]) {
    const same = (theme.changes.length - 1) / 2;
    const largest = Math.max(before, after);
    return same + (largest ? Math.round((same * (after - before)) / largest) : 0);
  }

  // The map: the whole picture, small, with a frame around what is shown.

  const map = { canvas: $("map"), context: $("map").getContext("2d"), picture: element("canvas"), tree: null, width: 0 };

  function minimap() {
    const { width } = main;
    map.canvas.parentElement.hidden = state.sandwich >= 0;
    if (state.sandwich >= 0) return;
    sized(map.canvas, map.context, width, MAP);
    if (map.tree !== main.tree || map.width !== width || map.theme !== theme) {
      Object.assign(map, { tree: main.tree, width, theme });
      drawMap(width);
    }
    const { context } = map;
    context.drawImage(map.picture, 0, 0, width, MAP);
    const { from, to } = main.drawn, all = main.whole.to;
    const left = (from / all) * width, right = (to / all) * width;
    if (right - left >= width - 1) return;
    context.fillStyle = theme.forced ? "transparent" : dark() ? "rgb(0 0 0 / 55%)" : "rgb(255 255 255 / 65%)";
    context.fillRect(0, 0, left, MAP);
    context.fillRect(right, 0, width - right, MAP);
    context.strokeStyle = theme.cursor;
    context.strokeRect(left + 0.5, 0.5, Math.max(2, right - left - 1), MAP - 1);
  }

  /** The whole as it is drawn once for a tree, and below the frame at each movement. */
  function drawMap(width) {
    const context = map.picture.getContext("2d");
    sized(map.picture, context, width, MAP);
    const rows = layout(main.tree, main.whole, width, order());
    const tall = Math.max(1, MAP / Math.max(rows.length, MAP / 4));
    context.fillStyle = theme.background;
    context.fillRect(0, 0, width, MAP);
    rows.slice(0, Math.ceil(MAP / tall)).forEach((row, level) => {
      const top = state.flame ? MAP - (level + 1) * tall : level * tall;
      for (const box of row) {
        const fill = box.smaller ? theme.quiet : colorsOf(main.tree, box.node)[0];
        context.fillStyle = theme.forced && fill === theme.root ? theme.thin : fill;
        context.fillRect(box.left, top, Math.max(0.5, box.width), tall);
      }
    });
  }

  function dragMap(event) {
    if (!event.buttons) return;
    const { left } = map.canvas.getBoundingClientRect();
    const at = ((event.clientX - left) / map.width) * main.whole.to, half = (main.view.to - main.view.from) / 2;
    if (main.isZoomed()) main.windowTo(at - half, at + half);
    else main.windowTo(at - main.whole.to / 20, at + main.whole.to / 20);
  }

  // Everything beside the pictures.

  /** With `soon`, the address is not written at every step of a movement: browsers refuse too many. */
  function refresh({ table: withTable = false, soon = false }) {
    main.redraw();
    if (state.sandwich >= 0) callers.redraw();
    showFound();
    showLine();
    if (withTable) showTable();
    clearTimeout(saving);
    if (soon) saving = setTimeout(settled, 200);
    else settled();
  }

  function settled() {
    remember();
    showPath();
    showChosen();
  }

  function showFound() {
    let text = mistake && `not a regular expression: ${mistake}`;
    if (matching) {
      const sum = matched(), count = matching.reduce((so, each) => so + each, 0);
      const where = main.zoom === ROOT ? "of the whole" : "of what is shown";
      text = `${percent(sum, main.tree.total(main.zoom))} ${where} (${quantity(sum, unit())}) is in ` +
        `${count.toLocaleString("en")} matching ${count === 1 ? "function" : "functions"}`;
    }
    if ($("found").textContent !== text) $("found").textContent = text;
  }

  const pointed = () => (active.hover === null ? active.cursor : active.hover);

  function showLine() {
    const { name, place, facts } = describe(active, pointed());
    $("line").replaceChildren(element("strong", name), ` ${place} · ${facts}`);
  }

  function tell() {
    const { tree, cursor } = active;
    const { name, place, facts } = describe(active, cursor);
    const parent = tree.parent(cursor);
    const peers = parent < 0 ? [cursor] : childrenOf(tree, parent, order());
    const below = childrenOf(tree, cursor, order()).length;
    $("live").textContent = [name, place, facts, `level ${active.levelOf(cursor) + 1}`,
      `${peers.indexOf(cursor) + 1} of ${peers.length}`,
      `${below} ${state.inverted || active === callers ? "callers" : "called"}`].filter(Boolean).join(", ");
  }

  function showTip(event) {
    const tip = $("tip");
    tip.hidden = active.hover === null;
    if (tip.hidden) return;
    const { name, place, facts } = describe(active, active.hover);
    tip.replaceChildren(element("b", name), element("div", place), element("div", facts));
    const { offsetWidth: wide, offsetHeight: tall } = tip;
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - wide - 8))}px`;
    tip.style.top = `${event.clientY + 18 + tall > innerHeight ? event.clientY - tall - 12 : event.clientY + 18}px`;
  }

  function showLegend() {
    $("legend").hidden = !isDifference();
    if (!isDifference()) return;
    const { changes } = head.palettes[dark() ? "dark" : "light"];
    const [before, after] = sides();
    const words = [["gone", 0], ["less", 0.2], [head.quiet ? "the same, or within the noise" : "the same", 0.5], ["more", 0.8], ["new", 1]];
    const scale = state.scale === "total" ? `${after} scaled to the total of ${before}` : head.scale;
    $("legend").replaceChildren(
      ...words.map(([word, at]) => {
        const item = element("li", ""), swatch = element("i", "");
        swatch.style.background = changes[Math.round(at * (changes.length - 1))];
        item.append(swatch, word);
        return item;
      }),
      element("li", `from ${before} to ${after}; a box is as wide as the larger of both`),
      element("li", `amounts: ${scale}`),
      ...head.remarks.map((remark) => element("li", remark)),
    );
  }

  function showTable() {
    const needle = state.search.trim();
    const rows = table.rows.filter((row) => !matching || matching[row.frame]);
    const shown = sortedRows(rows, table.columns[table.by], table.falling).slice(0, table.shown);
    $("table").tHead.replaceChildren(element("tr", ""));
    $("table").tHead.rows[0].append(...table.columns.map(headingOf));
    $("table").tBodies[0].replaceChildren(...shown.map(rowOf));
    $("rows").textContent = `${metric().name}: ${shown.length.toLocaleString("en")} of ` +
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
    const button = element("button", line.cells[0].textContent, { type: "button", title: "Callers and callees" });
    button.addEventListener("click", () => sandwich(row.frame));
    line.cells[0].replaceChildren(button);
    return line;
  }

  function fillTable() {
    table.rows = byFunction(profile, head.names.length);
    table.columns = columnsOf(profile, head, metric(), isDifference());
    table.by = 2;
    table.falling = true;
  }

  function setSearch(text) {
    $("search").value = text;
    search(text);
  }

  function setTheme() {
    document.documentElement.dataset.theme = dark() ? "dark" : "light";
    theme = themeOf(head, dark(), forced.matches);
    showLegend();
  }

  /** The path to the zoom and what is below it, as a tree of elements. */
  function showPath() {
    const { tree, zoom } = main, path = [];
    for (let at = zoom; at >= 0; at = tree.parent(at)) path.unshift(at);
    const below = childrenOf(tree, zoom, order()).slice(0, PATH_CHILDREN);
    const skipped = Math.max(0, path.length - PATH_LEVELS);
    const items = [...path.slice(skipped).map((node) => [node, true]), ...below.map((node) => [node, false])];
    $("path").replaceChildren(...items.map(([node, isOpen], at) => {
      const level = isOpen ? skipped + at + 1 : path.length + 1;
      const { name, facts } = describe(main, node);
      const item = element("li", `${name} · ${facts}`, { tabIndex: node === zoom ? 0 : -1 });
      item.setAttribute("role", "treeitem");
      item.setAttribute("aria-level", String(level));
      const peers = isOpen ? [node] : below;
      item.setAttribute("aria-setsize", String(peers.length));
      item.setAttribute("aria-posinset", String(peers.indexOf(node) + 1));
      if (isOpen) item.setAttribute("aria-expanded", String(below.length > 0 || node !== zoom));
      item.setAttribute("aria-selected", String(node === zoom));
      item.style.paddingLeft = `${Math.min(level - 1, 12) * 14 + 6}px`;
      item.addEventListener("click", () => main.zoomTo(node));
      return item;
    }));
  }

  function pressPath(event) {
    const items = Array.from($("path").children), at = items.indexOf(document.activeElement);
    const to = { ArrowUp: at - 1, ArrowLeft: at - 1, ArrowDown: at + 1, ArrowRight: at + 1, Home: 0, End: items.length - 1 }[event.key];
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") {
      items[at].click();
      $("path").querySelector("[aria-selected=true]").focus();
    } else if (to !== undefined && items[to]) {
      for (const item of items) item.tabIndex = -1;
      items[to].tabIndex = 0;
      items[to].focus();
    } else if (to === undefined) return;
    event.preventDefault();
  }

  // The chosen function: its lines at the version, and its share over the versions.

  const chosen = () => (active.cursor === null ? -1 : active.tree.frame(active.cursor));

  function showChosen() {
    showSource(head, chosen(), isDifference() ? "difference" : "profile", unit(), state.metric);
    if (head.kind === "history") showHistory(source, state, profile, chosen(), chooseVersion);
  }

  // The address of the page holds what is shown.

  function remember() {
    const words = new URLSearchParams();
    const put = (key, value) => value && words.set(key, value);
    put("metric", state.metric && metric().name);
    put("thread", state.thread >= 0 && String(state.thread));
    put("version", head.kind === "history" && state.version !== head.versions.length - 1 && String(state.version));
    put("base", state.base >= 0 && String(state.base));
    put("scale", state.scale);
    put("search", state.search);
    put("regex", state.regex && "true");
    put("focus", state.focus >= 0 && String(state.focus));
    put("hide", [...state.hidden].join("."));
    put("fold", [...state.folds].join(""));
    put("sandwich", state.sandwich >= 0 && String(state.sandwich));
    put("zoom", pathOf(main.tree, main.zoom));
    const { from, to } = intervalOf(main.tree, main.zoom, order());
    const view = main.view, all = main.tree.total(ROOT);
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
    const index = (text, length) => (/^\d{1,9}$/.test(text || "") && Number(text) < length ? Number(text) : -1);
    const truth = (key) => (words.has(key) ? words.get(key) === "true" : head.start[key]);
    const frames = head.names.length, last = head.versions.length - 1;
    const version = index(words.get("version"), head.versions.length);
    const listed = head.metrics.findIndex(({ name }) => name === (words.get("metric") || head.start.metric));
    const named = words.get("order");
    state = {
      metric: Math.max(0, listed), thread: index(words.get("thread"), head.tracks.length),
      version: version < 0 ? last : version, base: head.kind === "history" ? index(words.get("base"), head.versions.length) : -1,
      scale: words.get("scale") === "total" ? "total" : "",
      search: words.get("search") || "", regex: words.get("regex") === "true",
      focus: index(words.get("focus"), frames), sandwich: index(words.get("sandwich"), frames),
      hidden: new Set((words.get("hide") || "").split(".").map((text) => index(text, frames)).filter((frame) => frame >= 0)),
      folds: new Set([...(words.get("fold") || "")].filter((letter) => Object.hasOwn(FOLDS, letter))),
      inverted: truth("inverted"), flame: truth("flame"),
      order: Object.hasOwn(orders, named) && (named !== "time" || isTimed) ? named : head.start.order,
      theme: ["light", "dark"].includes(words.get("theme")) ? words.get("theme") : "",
    };
    if (!profileHas(state.sandwich)) state.sandwich = -1;
    if (!profileHas(state.focus)) state.focus = -1;
    plant(words.get("zoom") || "");
    const all = main.whole.to;
    const [from, to] = (words.get("window") || "").split("~").map((part) => Number(part) * all);
    if (to > from) main.jumpTo({ from: Math.max(0, from), to: Math.min(to, all) });
    fillTable();
    setTheme();
    showControls();
    setSearch(state.search);
    if (state.flame) main.toRoot();
  }

  const profileHas = (frame) => frame < 0 || source.frame.subarray(1).includes(frame);

  function showControls() {
    $("metric").value = String(state.metric);
    $("order").value = state.order;
    $("thread").value = String(state.thread);
    $("scale").value = state.scale;
    $("scale-label").hidden = !isDifference() || head.totals;
    $("version").value = String(state.version);
    $("base").value = String(state.base);
    if (head.kind === "history") {
      const { name, subject } = head.versions[state.version];
      $("version").setAttribute("aria-valuetext", [name, subject].filter(Boolean).join(" "));
      $("version-name").textContent = [name, subject].filter(Boolean).join(" ");
    }
    const pressed = { invert: state.inverted, flip: state.flame, theme: dark(), regex: state.regex, sandwich: state.sandwich >= 0 };
    for (const [id, is] of Object.entries(pressed)) $(id).setAttribute("aria-pressed", is);
    for (const letter of Object.keys(FOLDS)) $(`fold-${letter}`).setAttribute("aria-pressed", state.folds.has(letter));
    const name = (frame) => head.names[frame];
    const chips = [
      ...(state.sandwich >= 0 ? [[`callers and callees of ${name(state.sandwich)}`, () => sandwich(-1)]] : []),
      ...(state.focus >= 0 ? [[`only stacks with ${name(state.focus)}`, () => focusOn(-1)]] : []),
      ...[...state.hidden].map((frame) => [`without ${name(frame)}`, () => hide(frame)]),
    ];
    $("filters").hidden = !chips.length;
    $("filters").replaceChildren(...chips.map(([text, drop]) => {
      const item = element("li", ""), button = element("button", `${text} ✕`, { type: "button", title: "Take this back" });
      button.addEventListener("click", drop);
      item.append(button);
      return item;
    }));
    showLegend();
  }

  // What people do.

  function set(changes, options) {
    Object.assign(state, changes);
    replant(options);
  }

  const invert = () => set({ inverted: !state.inverted, sandwich: -1 }, { keep: false, withTable: false });
  const chooseOrder = (name) => set({ order: name });
  const chooseMetric = (number) => set({ metric: number });
  const chooseThread = (number) => set({ thread: number });
  const chooseVersion = (version) => set({ version: Math.max(0, Math.min(head.versions.length - 1, version)) });
  const focusOn = (frame) => set({ focus: frame, sandwich: -1 }, { keep: false });
  const orderNames = () => Object.keys(orders).filter((name) => name !== "time" || isTimed);

  /** A function that can be chosen: not the whole. */
  function chosenFunction() {
    const frame = active.tree.frame(active.cursor);
    return active.cursor === ROOT && state.sandwich < 0 ? -1 : frame;
  }

  function sandwich(frame) {
    set({ sandwich: frame, inverted: frame >= 0 ? false : state.inverted }, { keep: false, withTable: false });
    if (frame >= 0) callers.toRoot();
  }

  function toggleSandwich() {
    const frame = chosenFunction();
    if (state.sandwich >= 0) sandwich(frame === state.sandwich ? -1 : frame);
    else if (frame >= 0) sandwich(frame);
  }

  function focusHere() {
    const frame = chosenFunction();
    if (frame >= 0) focusOn(frame);
  }

  function hideHere() {
    const frame = chosenFunction();
    if (frame >= 0) hide(frame);
  }

  function hide(frame) {
    const hidden = new Set(state.hidden);
    if (!hidden.delete(frame)) hidden.add(frame);
    set({ hidden, sandwich: hidden.has(state.sandwich) ? -1 : state.sandwich });
  }

  function fold(letter) {
    const folds = new Set(state.folds);
    if (!folds.delete(letter)) folds.add(letter);
    set({ folds });
  }

  /** Take back the last of what is left out. */
  function undo() {
    if (state.sandwich >= 0) sandwich(-1);
    else if (state.hidden.size) hide([...state.hidden].pop());
    else if (state.focus >= 0) focusOn(-1);
    else if (state.folds.size) fold([...state.folds].pop());
  }

  function flip() {
    state.flame = !state.flame;
    map.tree = null;
    showControls();
    refresh({});
    main.toRoot();
  }

  function toggleTheme() {
    state.theme = dark() ? "light" : "dark";
    setTheme();
    showControls();
    refresh({});
  }

  function toggleRegex() {
    state.regex = !state.regex;
    showControls();
    search(state.search);
  }

  /** Other programs do not know the names of forced colours. */
  function saveShown() {
    theme = themeOf(head, dark(), false);
    saveSvg(main, page, head);
    setTheme();
  }

  function goBack() {
    if (!active.back() && state.sandwich >= 0) sandwich(-1);
  }

  const next = (list, value) => list[(list.indexOf(value) + 1) % list.length];
  const keys = {
    ArrowUp: () => (page.flame(active) ? active.down() : active.up()),
    ArrowDown: () => (page.flame(active) ? active.up() : active.down()),
    ArrowLeft: () => active.aside(-1),
    ArrowRight: () => active.aside(1),
    Enter: () => active.zoomTo(active.cursor),
    " ": () => active.zoomTo(active.cursor),
    Escape: goBack,
    Backspace: goBack,
    Home: () => active.home(),
    "/": () => $("search").select(),
    n: () => matching && active.nextMatch(matching, 1),
    N: () => matching && active.nextMatch(matching, -1),
    e: toggleRegex,
    i: invert,
    f: flip,
    d: toggleTheme,
    s: toggleSandwich,
    c: focusHere,
    h: hideHere,
    u: undo,
    r: () => fold("r"),
    l: () => fold("l"),
    p: () => fold("p"),
    o: () => chooseOrder(next(orderNames(), state.order)),
    m: () => chooseMetric((state.metric + 1) % head.metrics.length),
    t: () => head.tracks.length > 1 && chooseThread(state.thread + 1 < head.tracks.length ? state.thread + 1 : -1),
    v: () => head.kind === "history" && chooseVersion(state.version + 1),
    V: () => head.kind === "history" && chooseVersion(state.version - 1),
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
    const isAt = [main.canvas, callers.canvas, document.body].includes(event.target);
    const action = isAt && Object.hasOwn(keys, event.key) && keys[event.key];
    if (!action) return;
    event.preventDefault();
    if (event.target === document.body) main.canvas.focus({ preventScroll: true });
    $("tip").hidden = true;
    action();
    // What was pressed may have hidden the picture that had the focus.
    if (document.activeElement === document.body) main.canvas.focus({ preventScroll: true });
  }

  function listen() {
    document.addEventListener("keydown", press);
    $("path").addEventListener("keydown", pressPath);
    $("search").addEventListener("input", () => search($("search").value));
    $("search").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && matching) active.nextMatch(matching, event.shiftKey ? -1 : 1);
      if (event.key === "Escape") { setSearch(""); main.canvas.focus(); }
    });
    const selects = { metric: chooseMetric, thread: chooseThread, base: (base) => set({ base }) };
    for (const [id, choose] of Object.entries(selects)) $(id).addEventListener("change", () => choose(Number($(id).value)));
    $("order").addEventListener("change", () => chooseOrder($("order").value));
    $("scale").addEventListener("change", () => set({ scale: $("scale").value }));
    $("version").addEventListener("input", () => chooseVersion(Number($("version").value)));
    const buttons = {
      invert, flip, theme: toggleTheme, regex: toggleRegex, whole: () => active.home(), "help-button": keys["?"], sandwich: toggleSandwich,
      focus: focusHere, hide: hideHere, "fold-r": keys.r, "fold-l": keys.l, "fold-p": keys.p,
      svg: saveShown, png: () => savePng(main, head),
    };
    for (const [id, action] of Object.entries(buttons)) $(id).addEventListener("click", action);
    for (const kind of ["pointerdown", "pointermove"]) map.canvas.addEventListener(kind, dragMap);
    $("more").addEventListener("click", () => { table.shown += 4 * PAGE_OF_ROWS; showTable(); });
    window.addEventListener("hashchange", recall);
    systemDark.addEventListener("change", () => { setTheme(); showControls(); refresh({}); });
    // Paper does not wait for the next frame.
    paper.addEventListener("change", () => { setTheme(); main.paint(); if (state.sandwich >= 0) callers.paint(); });
    forced.addEventListener("change", () => { setTheme(); refresh({}); });
    listenToHistory(() => showChosen());
  }

  const options = (id, texts, first) => $(id).replaceChildren(
    ...(first ? [element("option", first, { value: "-1" })] : []),
    ...texts.map((text, number) => element("option", text, { value: String(number) })),
  );
  options("metric", head.metrics.map(({ name }) => name));
  options("thread", head.tracks, "all");
  options("base", head.versions.map(({ name }) => name), "nothing");
  $("metric-label").hidden = head.metrics.length < 2;
  $("thread-label").hidden = head.tracks.length < 2;
  $("history").hidden = head.kind !== "history";
  $("version").max = String(head.versions.length - 1);
  $("order").querySelector("[value=time]").hidden = $("order").querySelector("[value=time]").disabled = !isTimed;
  recall();
  listen();
}

unpack($("data").textContent)
  .then(start)
  .catch((error) => {
    $("problem").hidden = false;
    $("problem").textContent = error.message;
    throw error;
  });
