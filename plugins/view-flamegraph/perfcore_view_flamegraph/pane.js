// One picture of a tree: layout, painting, the pointer and the keyboard. A page has one, and one more for callers.

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

class Pane {
  /** `page` gives what all panes share: order(), flame(pane), theme(), colors(tree, node), label(tree, node), calm, and is
   * told of changes: moved(pane), hovered(pane, event), aimed(pane). */
  constructor(name, page) {
    this.page = page;
    this.canvas = $(name);
    this.room = this.canvas.parentElement;
    this.stage = this.room.parentElement;
    this.context = this.canvas.getContext("2d");
    this.fit = fitter(this.context);
    this.rows = [];
    this.motion = this.wanted = 0;
    this.drag = null;
    this.listen();
  }

  plant(tree, path) {
    this.tree = tree;
    this.zoom = follow(tree, path, this.order);
    this.cursor = this.zoom;
    this.hover = null;
    this.history = [];
    this.grown = 0;
    this.jumpTo(intervalOf(tree, this.zoom, this.order));
  }

  /** Pixels of CSS. Some browsers have the page still as wide as the window when they say that it is to be printed. */
  get width() {
    const { clientWidth } = this.stage;
    return this.page.paper.matches ? Math.min(clientWidth, PAPER) : clientWidth;
  }

  get order() { return this.page.order(); }
  get flame() { return this.page.flame(this); }
  get whole() { return { from: 0, to: this.tree.total(ROOT) }; }

  jumpTo(view) {
    this.motion++;
    this.view = this.drawn = view;
  }

  moveTo(view, zoom, { isBack = false } = {}) {
    if (!isBack) this.history.push({ view: this.view, zoom: this.zoom });
    this.zoom = zoom;
    this.view = view;
    this.animate();
    this.page.moved(this, {});
  }

  zoomTo(node) {
    this.moveTo(intervalOf(this.tree, node, this.order), node);
  }

  back() {
    const last = this.history.pop();
    if (last) this.moveTo(last.view, last.zoom, { isBack: true });
    else if (this.isZoomed()) this.moveTo(this.whole, ROOT, { isBack: true });
    else return false;
    return true;
  }

  isZoomed() {
    return this.zoom !== ROOT || this.view.to < this.whole.to || this.view.from > 0;
  }

  home() {
    this.moveTo(this.whole, ROOT);
    this.aim(ROOT);
  }

  /** The view from here to there, kept within the whole; the zoom is the innermost function that fills it. */
  windowTo(from, to) {
    const all = this.whole.to;
    const span = Math.min(all, Math.max(to - from, all * 1e-9));
    const left = Math.max(0, Math.min(from, all - span));
    const view = { from: left, to: left + span };
    let node = ROOT, at = 0;
    for (let found = true; found; ) {
      found = false;
      let child = at;
      for (const each of childrenOf(this.tree, node, this.order)) {
        if (child <= view.from && child + this.tree.total(each) >= view.to) {
          [node, at, found] = [each, child, true];
          break;
        }
        child += this.tree.total(each);
        if (child > view.from) break;
      }
    }
    this.jumpTo(view);
    this.zoom = node;
    this.page.moved(this, { soon: true });
  }

  // Painting.

  layoutFor(width) {
    this.rows = layout(this.tree, this.drawn, width, this.order);
    const height = this.rows.length * ROW + 1;
    this.grown = Math.max(this.grown, height);
    this.room.style.height = `${this.flame ? this.grown : height}px`;
    this.stage.style.height = `${this.grown + 2}px`;
    return this.width;
  }

  measure() {
    let { width } = this;
    const without = this.layoutFor(width);
    if (without !== width) width = this.layoutFor(without); // a scroll bar has come or gone
    const tall = Math.min(this.stage.clientHeight, this.grown);
    sized(this.canvas, this.context, width, tall);
    return { width, tall };
  }

  get bottom() { return Math.max(this.grown, this.canvas.clientHeight); }
  topOf(level) { return (this.flame ? this.bottom - (level + 1) * ROW : level * ROW) - this.stage.scrollTop; }
  levelAt(y) { return Math.floor((this.flame ? this.bottom - y - this.stage.scrollTop : y + this.stage.scrollTop) / ROW); }

  paint() {
    this.wanted = 0;
    if (this.stage.hidden) return;
    const theme = this.page.theme();
    const { width, tall } = this.measure();
    const { context } = this;
    context.fillStyle = theme.background;
    context.fillRect(0, 0, width, tall);
    context.font = FONT;
    context.textBaseline = "middle";
    context.direction = "ltr";
    this.dimmed = this.ancestors();
    this.rows.forEach((row, level) => {
      const top = this.topOf(level);
      if (top > -ROW && top < tall) for (const box of row) this.paintBox(box, top, width, theme);
    });
    for (const node of new Set([this.hover, document.activeElement === this.canvas ? this.cursor : null])) {
      if (node !== null) this.outline(node, width, theme);
    }
    this.page.painted(this);
  }

  /** The callers of what is zoomed to: shown as where one is, dimmed. */
  ancestors() {
    const found = new Set();
    for (let at = this.zoom; this.tree.parent(at) >= 0; at = this.tree.parent(at)) found.add(this.tree.parent(at));
    return found;
  }

  paintBox(box, top, width, theme) {
    const { context } = this;
    const left = Math.max(0, box.left), right = Math.min(width, box.left + box.width);
    const gap = right - left > 3 ? 1 : 0;
    const [fill, ink] = this.inks(box, theme);
    // With a border around each, many thin boxes would be one band of it.
    const isThin = theme.forced && right - left < 4;
    context.fillStyle = isThin && fill === theme.root ? theme.thin : fill;
    context.fillRect(left, top, right - left - gap, ROW - 1);
    if (theme.forced && !isThin) {
      context.strokeStyle = theme.text;
      context.strokeRect(left + 0.5, top + 0.5, right - left - 1, ROW - 1);
    }
    if (right - left < 22) return;
    const shown = this.labelFor(box, right - left - 9);
    context.fillStyle = ink;
    if (shown) context.fillText(shown, left + 4, top + ROW / 2 - 0.5);
  }

  inks(box, theme) {
    if (box.smaller || this.dimmed.has(box.node)) return [theme.quiet, theme.quietText];
    return this.page.colors(this.tree, box.node);
  }

  labelFor(box, room) {
    if (box.smaller) return this.fit(`${box.smaller.toLocaleString("en")} smaller`, room);
    // The name stays before the change: of a narrow box it says what it is.
    const [name, change] = this.page.label(this.tree, box.node);
    const whole = change ? `${name}  ${change}` : name;
    if (!change || this.fit(whole, room) === whole) return this.fit(whole, room);
    return this.fit(name, room);
  }

  boxOf(node) {
    for (let level = 0; level < this.rows.length; level++) {
      const box = this.rows[level].find((each) => each.node === node);
      if (box) return { ...box, level };
    }
    const { from } = intervalOf(this.tree, node, this.order);
    const { drawn } = this;
    const left = ((from - drawn.from) / (drawn.to - drawn.from)) * this.width;
    return { left, width: 0, level: this.levelOf(node) };
  }

  levelOf(node) {
    let level = 0;
    for (let at = node; this.tree.parent(at) >= 0; at = this.tree.parent(at)) level++;
    return level;
  }

  /** A frame around a box, wide enough to be found however thin the box is. */
  outline(node, width, theme) {
    const box = this.boxOf(node), { context } = this;
    const left = Math.max(1, Math.min(width - 4, box.left)), right = Math.min(width - 1, box.left + box.width);
    context.strokeStyle = theme.cursor;
    context.lineWidth = 2;
    context.strokeRect(left, this.topOf(box.level) + 1, Math.max(3, right - left - 1), ROW - 3);
    context.lineWidth = 1;
  }

  redraw() {
    this.wanted ||= requestAnimationFrame(() => this.paint());
  }

  animate() {
    const from = this.drawn, to = this.view, began = performance.now(), mine = ++this.motion;
    if (this.page.calm.matches) {
      this.drawn = to;
      return;
    }
    const step = (now) => {
      if (mine !== this.motion) return;
      const part = Math.min(1, Math.max(0, (now - began) / 160)), eased = 1 - (1 - part) ** 3;
      this.drawn = part < 1
        ? { from: from.from + (to.from - from.from) * eased, to: from.to + (to.to - from.to) * eased }
        : this.view;
      this.redraw();
      if (part < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  toRoot() {
    this.measure();
    this.stage.scrollTop = this.flame ? this.grown : 0;
  }

  // The keyboard's function.

  aim(node) {
    this.cursor = node;
    this.hover = null;
    const { from, to } = intervalOf(this.tree, node, this.order);
    if (from < this.view.from - 1e-9 * to || from >= this.view.to) this.zoomTo(Math.max(ROOT, this.tree.parent(node)));
    const top = this.topOf(this.levelOf(node));
    if (top < 0) this.stage.scrollTop += top - ROW;
    else if (top + ROW > this.stage.clientHeight) this.stage.scrollTop += top + 2 * ROW - this.stage.clientHeight;
    this.page.aimed(this);
    this.redraw();
  }

  up() { this.aim(Math.max(ROOT, this.tree.parent(this.cursor))); }

  down() {
    const [first] = childrenOf(this.tree, this.cursor, this.order);
    if (first !== undefined) this.aim(first);
  }

  aside(step) {
    const parent = this.tree.parent(this.cursor);
    if (parent < 0) return;
    const peers = childrenOf(this.tree, parent, this.order);
    const next = peers[peers.indexOf(this.cursor) + step];
    if (next !== undefined) this.aim(next);
  }

  nextMatch(matching, step) {
    const found = this.rows.flat().filter((box) => !box.smaller && matching[this.tree.frame(box.node)]).map((box) => box.node);
    const at = found.indexOf(this.cursor);
    if (found.length) this.aim(found[at < 0 ? (step > 0 ? 0 : found.length - 1) : (at + step + found.length) % found.length]);
  }

  // The pointer.

  nodeAt(event) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const x = event.clientX - left;
    const row = this.rows[this.levelAt(event.clientY - top)] || [];
    const box = row.find((each) => x >= each.left && x < each.left + Math.max(1, each.width));
    return box ? box.node : null;
  }

  hoverAt(event) {
    const node = this.nodeAt(event);
    const changed = node !== this.hover;
    this.hover = node;
    this.page.hovered(this, event, changed);
    if (changed) this.redraw();
  }

  pan(pixels, from = this.view) {
    const amount = (pixels / this.width) * (from.to - from.from);
    this.windowTo(from.from + amount, from.to + amount);
  }

  wheel(event) {
    const sideways = event.deltaX || (event.shiftKey ? event.deltaY : 0);
    if (event.ctrlKey || event.metaKey || event.altKey) {
      const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200)));
      const { from, to } = this.view;
      const at = from + ((event.clientX - this.canvas.getBoundingClientRect().left) / this.width) * (to - from);
      this.windowTo(at - (at - from) * factor, at + (to - at) * factor);
    } else if (sideways) {
      this.pan(sideways);
    } else {
      return;
    }
    event.preventDefault();
  }

  release(event) {
    const dragged = this.drag && this.drag.moved;
    this.drag = null;
    const node = this.nodeAt(event);
    if (dragged || node === null || event.button) return;
    this.cursor = node;
    this.zoomTo(node);
    this.page.aimed(this, { quiet: true });
  }

  dragOrHover(event) {
    const { drag } = this;
    if (drag && Math.abs(event.clientX - drag.x) > 4) drag.moved = true;
    if (drag && drag.moved) this.pan(drag.x - event.clientX, drag.view);
    else this.hoverAt(event);
  }

  leave(event) {
    this.drag = null;
    this.hover = null;
    this.page.hovered(this, event, true);
    this.redraw();
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => {
      this.drag = { x: event.clientX, view: this.view, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => this.dragOrHover(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    for (const kind of ["pointerleave", "pointercancel"]) canvas.addEventListener(kind, (event) => this.leave(event));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("focus", () => { this.page.entered(this); this.redraw(); });
    canvas.addEventListener("blur", () => this.redraw());
    this.stage.addEventListener("scroll", () => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(this.stage);
  }
}

/** Give a canvas so many pixels of CSS, and its context as many of the screen as it has. */
function sized(canvas, context, width, tall) {
  const dense = window.devicePixelRatio || 1;
  const size = [Math.round(width * dense), Math.round(tall * dense)];
  if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${tall}px`;
  context.setTransform(dense, 0, 0, dense, 0, 0);
}
