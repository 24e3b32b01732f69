// The page.

const PAGE_OF_ROWS = 200;
const SIZES = 6;
const NARROW = 500; // pixels, in which values beside each other have no room
const LARGEST = [800, 320, 128, 32, 4]; // the most threads that are drawn in each size, from the second on

/** How many cores stand beside each other, so that they are about twice as wide as high. */
function columnsOf(count, threads) {
  const ideal = Math.sqrt((2 * count) / threads);
  for (let more = 0; more <= ideal / 2; more++) {
    for (const columns of [Math.round(ideal) + more, Math.round(ideal) - more]) {
      if (columns > 0 && count % columns === 0) return columns;
    }
  }
  return Math.max(1, Math.ceil(ideal));
}

function start(data) {
  const { metrics, sides, comparable } = data;
  const stage = $("stage");
  const byCpu = sides.map((side) => new Map(side.threads.map((thread) => [thread.cpu, thread])));
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const double = sides.length > 1;
  const tables = { table: { by: 0, falling: false, shown: PAGE_OF_ROWS }, parts: { by: 0, falling: false, shown: PAGE_OF_ROWS } };
  const state = { metric: data.start, show: "amounts", theme: "", zoom: 0, size: 0, cursor: null, hover: null };
  let items = new Map(); // what is drawn: what it stands for, by its element

  const metric = () => metrics[state.metric];
  const dark = () => (state.theme ? state.theme === "dark" : systemDark.matches);
  const palette = () => data.palettes[dark() ? "dark" : "light"];
  const changing = () => state.show === "change" && comparable;

  // What things stand for: a thread or a part, of one side or of both.

  function twins(kind, side, at) {
    if (!double) return [sides[0][kind][at]];
    if (!comparable) return sides.map((one, number) => (number === side ? one[kind][at] : null));
    const { cpu } = kind === "threads" ? sides[side].threads[at] : {};
    const find = (number) => (kind === "threads" ? byCpu[number].get(cpu) : sides[number][kind][at]) || null;
    return sides.map((one, number) => (number === side ? one[kind][at] : find(number)));
  }

  const valuesOf = (item, number = state.metric) => item.both.map((one) => one && one.values[number]);
  const ownValue = (item, number = state.metric) => (item.self.values[number] || null);

  function changeOf(item) {
    const [before, after] = valuesOf(item);
    return before && after ? after[0] - before[0] : null;
  }

  function largestChange() {
    const every = sides.flatMap((side, number) => side.threads.map((_, at) => changeOf({ both: twins("threads", number, at) })));
    return Math.max(0, ...every.filter((change) => change !== null).map(Math.abs));
  }

  // The colours.

  function colorer() {
    const { amounts, changes } = palette();
    if (changing()) {
      const most = largestChange(), middle = (changes.length - 1) / 2;
      return (item) => {
        const change = changeOf(item);
        return change === null ? null : changes[middle + (most ? Math.round((middle * change) / most) : 0)];
      };
    }
    const [low, high] = metric().scale;
    return (item) => {
      const value = ownValue(item);
      if (!value) return null;
      const share = high > low ? (value[0] - low) / (high - low) : 0;
      return amounts[share > 0 ? Math.max(1, Math.round(share * (amounts.length - 1))) : 0];
    };
  }

  function paint() {
    const color = colorer();
    for (const [node, item] of items) {
      if (item.kind === "threads") {
        const found = color(item);
        node.classList.toggle("absent", !found);
        node.style.backgroundColor = found ? found[0] : "";
        node.style.color = found ? found[1] : "";
        node.lastChild.textContent = short(item);
      } else if (item.kind === "boxes") {
        node.firstChild.lastChild.textContent = shortOf(item);
      }
    }
    showLegend();
  }

  function short(item) {
    if (changing()) {
      const change = changeOf(item);
      return change === null ? NO_VALUE : signed(change, metric().unit);
    }
    const value = ownValue(item);
    return value ? quantity(value[0], metric().unit) : NO_VALUE;
  }

  function shortOf(item) {
    return valuesOf(item).some(Boolean) ? short(item) : "";
  }

  function showLegend() {
    const { name, unit, about, estimate, scale } = metric();
    const { amounts, changes } = palette();
    const most = changing() ? largestChange() : 0;
    const [low, high] = changing() ? [-most, most] : scale;
    const ends = changing() ? [signed(low, unit), signed(high, unit)] : scale.map((end) => quantity(end, unit));
    const bar = around("span", "scale", ...(changing() ? changes : amounts).map(() => element("i")));
    (changing() ? changes : amounts).forEach(([color], at) => { bar.children[at].style.backgroundColor = color; });
    const notes = [about, unit && !Object.hasOwn(SCALES, unit) && unit !== "1" ? `in ${unit}` : "", estimate ? "estimate" : ""];
    const label = `${changing() ? "change of " : ""}${name}${notes.some(Boolean) ? ` (${notes.filter(Boolean).join(", ")})` : ""}`;
    const what = metric().moved.length || shared() ? ", each thread, mean of the runs" : ", each thread";
    $("legend").replaceChildren(
      element("strong", label), element("span", ends[0]), bar, element("span", ends[1]),
      element("span", "", { className: "absent" }), element("span", NO_VALUE), element("span", what.slice(2), { className: "soft" }),
    );
    $("legend").setAttribute("aria-label", `Colours: ${label} from ${ends[0]} to ${ends[1]}${low < high ? "" : ", all the same"}; hatched is ${NO_VALUE}`);
  }

  function shared() {
    return sides.some((side) => side.threads.some((thread) => thread.values[state.metric] && thread.values[state.metric][4] !== null));
  }

  // The picture.

  const clamped = (size) => Math.max(0, Math.min(SIZES - 1, size));

  /** The largest size in which so many machines are likely to fit. */
  function fitting(count) {
    const threads = Math.max(...sides.map((side) => side.threads.length)) * count;
    const size = LARGEST.filter((most) => threads <= most).length;
    return size > 3 && stage.clientWidth < NARROW ? 3 : size;
  }

  function draw() {
    items = new Map();
    state.cursor = state.hover = null;
    const drawn = changing() ? [sides.length - 1] : sides.map((_, number) => number);
    state.size = clamped(fitting(drawn.length) + state.zoom);
    stage.className = `size-${state.size}`;
    stage.replaceChildren(...drawn.map(drawSide));
    const first = stage.querySelector(".tile");
    if (first) setCursor(first, { quiet: true });
    paint();
    showLine();
  }

  function drawSide(number) {
    const side = sides[number];
    const room = around("div", "boxes run");
    room.append(...side.outer.map((at) => drawBox(number, at)));
    if (side.loose.length) room.append(drawTiles(number, side.loose));
    const unknown = changing() ? [...new Map(sides.flatMap((one, of) => one.unknown.map((at) => [one.threads[at].cpu, [of, at]]))).values()]
      : side.unknown.map((at) => [number, at]);
    if (unknown.length) {
      const head = around("div", "head", element("span", "unknown"), element("span"));
      room.append(around("div", "box unknown", head, around("div", "boxes", ...unknown.map(([of, at]) => drawTile(of, at)))));
    }
    if (!double) return around("div", "side", room);
    const head = around("div", "caption", element("div", changing() ? "target − baseline" : `${side.word}: ${side.name}`, { className: "name" }));
    if (!changing()) head.append(element("p", [side.command, ...side.facts].join("; "), { className: "soft" }));
    return around("div", "side", head, room);
  }

  function drawBox(number, at) {
    const box = sides[number].boxes[at];
    const room = box.inner.length ? around("div", "runs", ...runsOf(number, box)) : drawTiles(number, box.threads, box.core);
    if (box.inner.length && box.threads.length) room.append(drawTiles(number, box.threads));
    const node = around("div", box.core ? "box core" : "box", around("div", "head", element("span", box.label), element("span")), room);
    items.set(node, { kind: "boxes", side: number, self: box, both: twins("boxes", number, at) });
    node.dataset.item = "";
    return node;
  }

  /** What is in a part: all that look the same stand together, such as the cores of a kind. */
  function runsOf(number, box) {
    const { boxes, threads, kinds } = sides[number];
    const kindOf = (at) => (boxes[at].threads.length ? threads[boxes[at].threads[0]].kind : boxes[at].inner.length ? kindOf(boxes[at].inner[0]) : "");
    const look = (at) => `${boxes[at].level} ${boxes[at].core} ${boxes[at].inner.length} ${boxes[at].threads.length} ${kindOf(at)}`;
    const runs = [];
    for (const at of box.inner) {
      const last = runs[runs.length - 1];
      if (last && (look(last[0]) === look(at) || runs.length > 3)) last.push(at);
      else runs.push([at]);
    }
    return runs.flatMap((run) => {
      const room = around("div", "boxes run", ...run.map((at) => drawBox(number, at)));
      const kind = kinds.length > 1 && runs.length > 1 && kindOf(run[0]);
      return kind ? [element("div", `${kind} cores`, { className: "kind" }), room] : [room];
    });
  }

  /** Makes the rows of what stands in a part as long as each other, instead of full ones and a short last one. */
  function balance() {
    const rooms = [...stage.querySelectorAll(".run")].reverse(); // what is inside first
    for (const room of rooms) room.style.maxWidth = "";
    for (const room of rooms) {
      const wides = [...room.children].map((child) => child.getBoundingClientRect().width);
      const wide = Math.max(...wides), gap = parseFloat(getComputedStyle(room).columnGap) || 0;
      const core = wides.length > 2 && room.firstChild.classList.contains("core");
      if (wides.length < 2 || wide - Math.min(...wides) > 24) continue;
      const threads = room.firstChild.querySelectorAll(".tile").length;
      const fits = Math.max(1, Math.floor((room.parentElement.clientWidth + gap + 1) / (wide + gap)));
      const wished = core ? columnsOf(wides.length, threads) : wides.length;
      const rows = Math.ceil(wides.length / Math.min(fits, wished));
      const columns = wished <= fits ? wished : Math.ceil(wides.length / rows);
      room.style.maxWidth = `${columns * (wide + gap) - gap + 1}px`;
    }
  }

  function drawTiles(number, threads, core = false) {
    return around("div", core ? "boxes" : "boxes run", ...threads.map((at) => drawTile(number, at)));
  }

  function drawTile(number, at) {
    const thread = sides[number].threads[at];
    const name = around("span", "", element("span", thread.cpu < 0 ? "" : "CPU ", { className: "word" }), thread.cpu < 0 ? thread.label : String(thread.cpu));
    const node = around("div", "tile", name, element("b"));
    items.set(node, { kind: "threads", side: number, at, self: thread, both: twins("threads", number, at) });
    node.dataset.item = "";
    return node;
  }

  // Where the pointer and the keyboard are.

  function nodesOf(item) {
    const both = new Set(item.both.filter(Boolean));
    return [...items].filter(([, other]) => both.has(other.self)).map(([node]) => node);
  }

  function point(node) {
    for (const old of stage.querySelectorAll(".pointed")) old.classList.remove("pointed");
    state.hover = node;
    if (node) for (const one of nodesOf(items.get(node))) one.classList.add("pointed");
    showLine();
  }

  function setCursor(node, { quiet = false } = {}) {
    for (const old of stage.querySelectorAll(".at")) old.classList.remove("at");
    state.cursor = node;
    node.classList.add("at");
    if (quiet) return;
    node.scrollIntoView({ block: "nearest", inline: "nearest" });
    state.hover = null;
    showLine();
    $("live").textContent = lineOf(items.get(node), [state.metric]);
  }

  const titleOf = (item) => (item.kind === "threads" ? item.self.label : item.self.parts);
  const placeOf = (item) => (item.kind === "threads" ? [item.self.place, item.self.kind && `${item.self.kind} core`].filter(Boolean).join(" · ") : item.self.cpus);

  function toldOf(item, number) {
    const { name, unit } = metrics[number];
    if (!double || !comparable) return `${name}: ${told(ownValue(item, number), unit, sides[item.side].runs)}`;
    const [before, after] = valuesOf(item, number);
    return `${name}: ${before ? quantity(before[0], unit) : NO_VALUE} → ${after ? quantity(after[0], unit) : NO_VALUE}, ${became(before, after)}`;
  }

  function lineOf(item, numbers) {
    const side = double && !comparable ? `${sides[item.side].word} ` : "";
    return `${side}${titleOf(item)}, ${placeOf(item)}; ${numbers.map((number) => toldOf(item, number)).join("; ")}`;
  }

  function showLine() {
    const node = state.hover || state.cursor;
    $("line").textContent = node ? lineOf(items.get(node), [state.metric]) : "";
  }

  function showTip(event) {
    const node = state.hover, tip = $("tip");
    tip.hidden = !node;
    if (!node) return;
    const item = items.get(node);
    const heads = double && comparable ? around("tr", "", element("td"), ...["baseline", "target", "change"].map((text) => element("th", text))) : "";
    const numbers = metrics.map((_, number) => number).filter((number) => valuesOf(item, number).some(Boolean) || number === state.metric);
    const rows = numbers.slice(0, 14).map((number) => {
      const row = element("tr", "", { className: number === state.metric ? "chosen" : "" });
      row.append(element("th", metrics[number].name), ...cellsOf(item, number).map((text) => element("td", text)));
      return row;
    });
    tip.replaceChildren(element("b", titleOf(item)), element("div", placeOf(item), { className: "soft" }), around("table", "", heads, ...rows));
    const { width, height } = tip.getBoundingClientRect();
    const x = event.clientX + 14 + width > innerWidth ? Math.max(8, event.clientX - 14 - width) : event.clientX + 14;
    const y = event.clientY + 16 + height > innerHeight ? Math.max(8, event.clientY - 12 - height) : event.clientY + 16;
    tip.style.left = `${x}px`;
    tip.style.top = `${y}px`;
  }

  function cellsOf(item, number) {
    const { unit } = metrics[number];
    if (!double || !comparable) {
      const value = ownValue(item, number);
      return [[told(value, unit, sides[item.side].runs), value && exactly(value[0], unit)].filter(Boolean).join(" · ")];
    }
    const [before, after] = valuesOf(item, number);
    return [before ? quantity(before[0], unit) : NO_VALUE, after ? quantity(after[0], unit) : NO_VALUE, became(before, after)];
  }

  // Moving by keys: to the nearest in a direction, among what is of the same kind.

  function step(dx, dy) {
    const from = state.cursor;
    if (!from) return;
    const own = from.getBoundingClientRect();
    const like = ({ kind, self }) => `${kind} ${self.level || ""}`; // to go from a cache to a cache, not to a core
    let best = null, least = Infinity;
    for (const [node, item] of items) {
      if (node === from || node.contains(from) || from.contains(node) || like(item) !== like(items.get(from))) continue;
      const other = node.getBoundingClientRect();
      if (!other.width) continue;
      const ahead = dx ? dx * (other.left + other.right - own.left - own.right) : dy * (other.top + other.bottom - own.top - own.bottom);
      const aside = dx ? Math.max(0, other.top - own.bottom, own.top - other.bottom) + Math.abs(other.top - own.top) / 8
        : Math.max(0, other.left - own.right, own.left - other.right) + Math.abs(other.left - own.left) / 8;
      if (ahead <= 1) continue;
      const far = ahead / 2 + 6 * aside;
      if (far < least) [best, least] = [node, far];
    }
    if (best) setCursor(best);
  }

  function out() {
    const node = state.cursor && state.cursor.parentElement.closest("[data-item]");
    if (node) setCursor(node);
  }

  function into() {
    const node = state.cursor && state.cursor.querySelector("[data-item]");
    if (node) setCursor(node);
  }

  function end(last) {
    const tiles = stage.querySelectorAll(".tile");
    if (tiles.length) setCursor(tiles[last ? tiles.length - 1 : 0]);
  }

  // The tables.

  function rowsOf(kind) {
    const rows = [];
    const count = (side) => side[kind].length;
    if (comparable || !double) {
      const seen = new Set();
      sides.forEach((side, number) => side[kind].forEach((self, at) => {
        const key = kind === "threads" ? self.cpu : at;
        if (seen.has(key)) return;
        seen.add(key);
        rows.push({ kind, side: number, self, both: twins(kind, number, at), order: rows.length });
      }));
      return rows;
    }
    sides.forEach((side, number) => {
      for (let at = 0; at < count(side); at++) {
        rows.push({ kind, side: number, self: side[kind][at], both: twins(kind, number, at), order: rows.length });
      }
    });
    return rows;
  }

  function columnsFor(kind) {
    const found = [];
    if (double && !comparable) found.push({ title: "Side", text: true, value: (row) => row.side, show: (row) => sides[row.side].word });
    found.push(kind === "threads"
      ? { title: "CPU", value: (row) => (row.self.cpu < 0 ? Infinity : row.self.cpu), show: (row) => (row.self.cpu < 0 ? row.self.label : String(row.self.cpu)) }
      : { title: "Part", text: true, value: (row) => row.order, show: titleOf });
    found.push({ title: kind === "threads" ? "Place" : "CPUs", text: true, wide: true, value: (row) => row.order, show: kind === "threads" ? (row) => row.self.place : (row) => row.self.cpus.replace("CPU ", "") });
    if (kind === "threads" && sides.some((side) => side.kinds.length)) {
      found.push({ title: "Kind", text: true, value: (row) => row.self.kind, show: (row) => row.self.kind || "-" });
    }
    if (double && comparable) {
      const { unit, name } = metric();
      const at = (which) => (row) => valuesOf(row)[which];
      const number = (value) => (value ? value[0] : null);
      for (const [title, which] of [["Baseline", 0], ["Target", 1]]) {
        found.push({ title: `${title} ${name}`, value: (row) => number(at(which)(row)), show: (row) => amount(at(which)(row), unit) });
      }
      found.push({ title: "Change", value: (row) => changeOf(row), show: (row) => (changeOf(row) === null ? "-" : signed(changeOf(row), unit)), size: true });
      found.push({ title: "In words", value: (row) => changeOf(row), show: (row) => became(...valuesOf(row)), size: true });
      return found;
    }
    metrics.forEach(({ name, unit }, number) => {
      found.push({ title: name, value: (row) => (ownValue(row, number) || [null])[0], show: (row) => amount(ownValue(row, number), unit) });
    });
    if (shared()) {
      const share = (row) => (ownValue(row) || [])[4] ?? null;
      found.push({ title: `Share of ${metric().name}`, value: share, show: (row) => percent(share(row)) || "-" });
    }
    return found;
  }

  const amount = (value, unit) => (value ? quantity(value[0], unit) : "-");

  function showTable(id, kind, more) {
    const table = tables[id], columns = columnsFor(kind);
    table.by = Math.min(table.by, columns.length - 1);
    const { value, size } = columns[table.by];
    const key = (row) => (size && value(row) !== null ? Math.abs(value(row)) : value(row));
    const sign = table.falling ? -1 : 1;
    const rows = rowsOf(kind).sort((one, other) => {
      const [a, b] = [key(one), key(other)];
      if (a === b) return one.order - other.order;
      if (a === null || b === null) return a === null ? 1 : -1;
      return sign * (a < b ? -1 : 1);
    });
    $(id).tHead.replaceChildren(around("tr", "", ...columns.map((column, at) => heading(id, column, at))));
    $(id).tBodies[0].replaceChildren(...rows.slice(0, table.shown).map((row) => around("tr", "", ...columns.map((column) =>
      element("td", column.show(row), { className: `${column.text ? "text" : ""} ${column.wide ? "wide" : ""}`.trim() })))));
    $(more).hidden = rows.length <= table.shown;
  }

  function heading(id, column, at) {
    const table = tables[id];
    const cell = element("th", "", { className: column.text ? "text" : "", scope: "col" });
    const button = element("button", `${column.title}${table.by === at ? (table.falling ? " ▾" : " ▴") : ""}`, { type: "button" });
    cell.setAttribute("aria-sort", table.by === at ? (table.falling ? "descending" : "ascending") : "none");
    button.addEventListener("click", () => {
      table.falling = table.by === at ? !table.falling : !column.text && column.title !== "CPU";
      table.by = at;
      showTables();
      $(id).tHead.rows[0].cells[at].firstChild.focus();
    });
    cell.append(button);
    return cell;
  }

  function showMoved() {
    const { moved, name } = metric();
    $("moved-section").hidden = !moved.length;
    $("moved-about").textContent = `Shares of ${name}: in points of percent of all that was counted on each side.`;
    const head = around("tr", "", ...["Part", "Baseline", "Target", "Points"].map((text, at) => element("th", text, { scope: "col", className: at ? "" : "text" })), element("td"));
    $("moved").tHead.replaceChildren(head);
    const { changes } = palette();
    const farthest = Math.max(...moved.flatMap(({ shifts }) => shifts.map(([, before, after]) => Math.abs(after - before))));
    $("moved").tBodies[0].replaceChildren(...moved.flatMap(({ level, told, shifts }) => {
      const title = around("tr", "", element("th", `${level}: ${told}`, { scope: "rowgroup", colSpan: 5 }));
      const largest = [...shifts].filter((shift) => shift[1] !== shift[2]).sort((a, b) => Math.abs(b[2] - b[1]) - Math.abs(a[2] - a[1])).slice(0, 12);
      const rows = shifts.filter((shift) => largest.includes(shift)).map(([part, before, after]) => {
        const bar = around("span", "bar", element("i"));
        const width = (50 * Math.abs(after - before)) / farthest, more = after > before;
        bar.firstChild.style.width = `${width}%`;
        bar.firstChild.style.left = `${more ? 50 : 50 - width}%`;
        bar.firstChild.style.backgroundColor = changes[more ? changes.length - 1 : 0][0];
        bar.setAttribute("aria-hidden", "true");
        return around("tr", "", element("td", part, { className: "text" }), ...[percent(before), percent(after), points(before, after)].map((text) => element("td", text)), around("td", "", bar));
      });
      const rest = shifts.filter((shift) => shift[1] !== shift[2]).length - largest.length;
      const more = rest > 0 ? [around("tr", "", element("td", `and ${rest} more`, { className: "text" }))] : [];
      return [title, ...rows, ...more];
    }));
  }

  function showTables() {
    showTable("table", "threads", "more");
    showTable("parts", "boxes", "more-parts");
    showMoved();
  }

  // What is chosen.

  function choose(changes) {
    Object.assign(state, changes);
    document.documentElement.dataset.theme = dark() ? "dark" : "light";
    $("metric").value = String(state.metric);
    $("show").value = changing() ? "change" : "amounts";
    $("theme").setAttribute("aria-pressed", String(dark()));
    if ("show" in changes || "zoom" in changes) draw();
    else paint();
    showLine();
    showTables();
    if ("show" in changes || "zoom" in changes || "metric" in changes) balance(); // once the tables have brought a scroll bar
    save();
  }

  function save() {
    const found = new URLSearchParams();
    if (state.metric !== data.start) found.set("metric", metric().name);
    if (changing()) found.set("show", "change");
    if (state.theme) found.set("theme", state.theme);
    const hash = found.toString();
    if (hash !== location.hash.slice(1)) history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  function recall() {
    const found = new URLSearchParams(location.hash.slice(1));
    const number = metrics.findIndex(({ name }) => name === found.get("metric"));
    const theme = ["dark", "light"].includes(found.get("theme")) ? found.get("theme") : "";
    choose({ metric: number < 0 ? data.start : number, show: found.get("show") === "change" ? "change" : "amounts", theme });
  }

  const turn = (by) => choose({ metric: (state.metric + by + metrics.length) % metrics.length });
  const resize = (by) => choose({ zoom: state.zoom + clamped(state.size + by) - state.size });
  const toggleTheme = () => choose({ theme: dark() ? "light" : "dark" });
  const toggleShow = () => comparable && choose({ show: changing() ? "amounts" : "change" });

  const keys = {
    ArrowLeft: () => step(-1, 0), ArrowRight: () => step(1, 0), ArrowUp: () => step(0, -1), ArrowDown: () => step(0, 1),
    Escape: out, Backspace: out, Enter: into, Home: () => end(false), End: () => end(true),
    m: () => turn(1), M: () => turn(-1), c: toggleShow, d: toggleTheme,
    "+": () => resize(1), "=": () => resize(1), "-": () => resize(-1), "?": () => $("help").showModal(),
  };

  function press(event) {
    if (event.defaultPrevented || $("help").open || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = [stage, document.body].includes(event.target) && keys[event.key];
    if (!action) return;
    event.preventDefault();
    stage.focus({ preventScroll: true });
    $("tip").hidden = true;
    action();
  }

  function hover(event) {
    const node = event.target.closest("[data-item]");
    if (node !== state.hover) point(node);
    showTip(event);
  }

  function listen() {
    stage.addEventListener("pointermove", hover);
    stage.addEventListener("pointerdown", (event) => {
      const node = event.target.closest("[data-item]");
      if (node) setCursor(node);
      hover(event);
    });
    stage.addEventListener("pointerleave", (event) => { point(null); showTip(event); });
    document.addEventListener("keydown", press);
    $("metric").addEventListener("change", () => choose({ metric: Number($("metric").value) }));
    $("show").addEventListener("change", () => choose({ show: $("show").value }));
    const buttons = { smaller: keys["-"], larger: keys["+"], theme: toggleTheme, "help-button": keys["?"] };
    for (const [id, action] of Object.entries(buttons)) $(id).addEventListener("click", action);
    for (const [id, table] of [["more", tables.table], ["more-parts", tables.parts]]) {
      $(id).addEventListener("click", () => { table.shown += 4 * PAGE_OF_ROWS; showTables(); });
    }
    window.addEventListener("hashchange", recall);
    let wide = stage.clientWidth;
    const refit = () => {
      if (wide !== stage.clientWidth) balance();
      wide = stage.clientWidth;
    };
    new ResizeObserver(() => requestAnimationFrame(refit)).observe(stage);
    systemDark.addEventListener("change", () => choose({}));
  }

  $("metric").replaceChildren(...metrics.map(({ name }, number) => element("option", name, { value: String(number) })));
  $("show-label").hidden = !comparable;
  recall();
  listen();
}

try {
  start(JSON.parse($("data").textContent));
} catch (error) {
  $("problem").hidden = false;
  $("problem").textContent = error.message;
  throw error;
}
