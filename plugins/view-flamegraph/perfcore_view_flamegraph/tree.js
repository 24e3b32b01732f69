"use strict";

const ROW = 20; // pixels from one level to the next
const THINNEST = 0.5; // what is less wide is neither laid out nor drawn
const FONT = "12px system-ui, -apple-system, 'Segoe UI', sans-serif";
const PAGE_OF_ROWS = 50;
const ROOT = 0;
const MAP = 36; // pixels of the map
const PATH_LEVELS = 60, PATH_CHILDREN = 20; // of the tree of elements: a deep stack has thousands

// The data: see pack.py for how they are written.

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%.()*+-;,=/?@^_`{|}~";

/** Bytes of five digits for each four of them; the last group may be shorter. */
function bytesOf(text) {
  const worth = new Uint8Array(128);
  for (let digit = 0; digit < 85; digit++) worth[DIGITS.charCodeAt(digit)] = digit;
  const size = Math.floor((text.length * 4) / 5), missing = (5 - (text.length % 5)) % 5;
  const bytes = new Uint8Array(size + 4);
  const view = new DataView(bytes.buffer);
  for (let at = 0, to = 0; at < text.length; at += 5, to += 4) {
    let group = 0;
    for (let digit = 0; digit < 5; digit++) {
      group = group * 85 + (at + digit < text.length ? worth[text.charCodeAt(at + digit)] : 84);
    }
    view.setUint32(to, group);
  }
  return bytes.subarray(0, Math.floor((text.length + missing) / 5) * 4 - missing);
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function unpack(text) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This browser cannot open the data of this page, since it has no DecompressionStream. " +
      "Firefox from 113, Chrome and Edge from 80, and Safari from 16.4 on have it.");
  }
  const bytes = bytesOf(text.trim());
  let at = 4 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(await inflated(bytes.subarray(4, at))));
  const columns = await Promise.all(head.columns.map(({ parts, ...column }) => {
    const streams = parts.map((length) => inflated(bytes.subarray(at, (at += length))));
    return readColumn(column, streams);
  }));
  return readSource(head, columns);
}

async function readColumn({ rows, float, short }, streams) {
  const values = new Float64Array(rows);
  const planes = await Promise.all(streams);
  if (float) {
    const view = new DataView(planes[0].buffer);
    for (let row = 0; row < rows; row++) values[row] = view.getFloat64(8 * row, true);
    return values;
  }
  if (short !== undefined) return readShort(values, short, planes);
  planes.forEach((plane, number) => {
    const worth = 256 ** number;
    for (let row = 0; row < rows; row++) values[row] += worth * plane[row];
  });
  return values;
}

function readShort(values, short, [first, ...low]) {
  const worths = low.map((_, number) => 256 ** number), worth = 256 ** low.length;
  for (let row = 0, at = 0; row < values.length; row++) {
    values[row] = first[row];
    if (first[row] < short) continue;
    values[row] = short + (first[row] - short) * worth;
    for (let plane = 0; plane < low.length; plane++) values[row] += worths[plane] * low[plane][at];
    at++;
  }
  return values;
}

/** What the page holds: a tree, and for each metric a column of amounts by node for each side or version; or samples in
 * the order of time, each of a node and a thread. */
function readSource(head, columns) {
  const [lengths, begins, frame] = columns, files = columns[columns.length - 1];
  const ups = new Int32Array(head.nodes);
  const ends = new Int32Array(lengths.length);
  lengths.reduce((at, length, path) => {
    ups[at] = begins[path];
    ends[path] = at + length - 1;
    return at + length;
  }, 0);
  head.places = head.names.map((_, at) => `${head.files[files[at]]}${head.lines[at] && `:${head.lines[at]}`}`);
  head.slots = slotsOf(head);
  const shape = shapeOf(ups);
  let next = 3;
  const source = { head, size: head.nodes, frame: Int32Array.from(frame), ...shape, samples: null, columns: [] };
  if (head.samples) {
    const node = Int32Array.from(columns[next++]), track = Int32Array.from(columns[next++]);
    source.samples = { node, track, values: head.metrics.map(() => columns[next++]) };
  } else {
    source.columns = head.metrics.map((metric) => Array.from({ length: metric.columns }, () => {
      const values = new Float64Array(head.nodes);
      const [atEnds, gaps, others] = [columns[next++], columns[next++], columns[next++]];
      for (let path = 0; path < ends.length; path++) values[ends[path]] = atEnds[path];
      for (let other = 0, node = 0; other < gaps.length; other++) values[(node += gaps[other])] = others[other];
      return values;
    }));
  }
  return source;
}

/** The colour of each function: the hue says the file or module, the tone tells neighbours apart. */
function slotsOf({ names, places, hues, tones }) {
  const table = Uint32Array.from({ length: 256 }, (_, byte) => {
    for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? 0xedb88320 ^ (byte >>> 1) : byte >>> 1;
    return byte;
  });
  const encoder = new TextEncoder();
  const spread = (text, ways) => {
    const bytes = encoder.encode(text);
    let sum = 0xffffffff;
    for (let at = 0; at < bytes.length; at++) sum = table[(sum ^ bytes[at]) & 255] ^ (sum >>> 8);
    return ((sum ^ 0xffffffff) >>> 0) % ways;
  };
  const spreads = new Map(); // of modules: they have many functions
  const hueOf = (text) => {
    if (!spreads.has(text)) spreads.set(text, spread(text, hues));
    return spreads.get(text);
  };
  const before = (text, separator) => text.slice(0, Math.max(0, text.lastIndexOf(separator)));
  const moduleOf = (name, place) => {
    if (place) return before(place, ":") || place;
    const separator = ["::", "."].find((each) => name.includes(each));
    return separator ? before(name, separator) : name;
  };
  return names.map((name, at) => hueOf(moduleOf(name, places[at])) * tones + spread(name, tones));
}

/** Parents, depths and the ends of subtrees. A node comes after its parent, and its subtree right after it. */
function shapeOf(ups) {
  const size = ups.length;
  const parent = new Int32Array(size).fill(-1), depth = new Int32Array(size), end = new Int32Array(size);
  const path = [ROOT];
  for (let node = 1; node < size; node++) {
    depth[node] = depth[node - 1] + 1 - ups[node];
    parent[node] = path[depth[node] - 1];
    path[depth[node]] = node;
  }
  for (let node = size - 1; node >= 0; node--) {
    end[node] = Math.max(end[node], node + 1);
    if (node) end[parent[node]] = Math.max(end[parent[node]], end[node]);
  }
  return { parent, depth, end };
}

function totalsOf(profile, own) {
  const total = Float64Array.from(own);
  for (let node = profile.size - 1; node > 0; node--) total[profile.parent[node]] += total[node];
  return total;
}

// Trees: what is called below its callers, or inverted, callers below what they call. Both have the methods
// frame, parent, total, own, sides (of a difference), below (children with an amount), inner (what these amount to,
// once they are known) and nodes (of the profile, whose own amounts make up the total).

function downwards(profile) {
  const { own, baseline, target } = profile;
  const total = totalsOf(profile, own);
  const before = baseline && totalsOf(profile, baseline), after = target && totalsOf(profile, target);
  return {
    profile,
    sorted: new Map(),
    frame: (node) => profile.frame[node],
    parent: (node) => profile.parent[node],
    total: (node) => total[node],
    own: (node) => own[node],
    inner: (node) => total[node] - own[node],
    sides: (node) => (before ? [before[node], after[node]] : null),
    below(node) {
      const found = [];
      for (let child = node + 1; child < profile.end[node]; child = profile.end[child]) {
        if (total[child] > 0) found.push(child);
      }
      return found;
    },
    *nodes(node) {
      for (let each = node; each < profile.end[node]; each++) yield each;
    },
  };
}

/** Made as it is looked at: a node knows where its stacks begin, and how far up each it stands, until its callers are
 * made. */
function inverted(profile) {
  const { own, baseline, target } = profile;
  const nodes = [];
  const add = (parent, frame, begins, stands) => {
    const sum = (values) => begins.reduce((so, node) => so + values[node], 0);
    nodes.push({ parent, frame, begins, stands, total: sum(own), sides: baseline ? [sum(baseline), sum(target)] : null });
    return nodes.length - 1;
  };
  const all = [];
  for (let node = 1; node < profile.size; node++) if (own[node] > 0) all.push(node);
  add(-1, profile.frame[ROOT], all, all);
  return {
    sorted: new Map(),
    frame: (node) => nodes[node].frame,
    parent: (node) => nodes[node].parent,
    total: (node) => nodes[node].total,
    own: () => null,
    inner: (node) => nodes[node].inner,
    sides: (node) => nodes[node].sides,
    below(node) {
      const { begins, stands } = nodes[node];
      const groups = new Map();
      stands.forEach((at, entry) => {
        if (at === ROOT) return;
        const frame = profile.frame[at];
        if (!groups.has(frame)) groups.set(frame, [[], []]);
        const [begin, stand] = groups.get(frame);
        begin.push(begins[entry]);
        stand.push(profile.parent[at]);
      });
      const found = Array.from(groups, ([frame, [begin, stand]]) => add(node, frame, begin, stand));
      nodes[node].inner = found.reduce((so, child) => so + nodes[child].total, 0);
      nodes[node].begins = nodes[node].stands = null;
      return found;
    },
    *nodes(node) {
      const path = [];
      for (let at = node; nodes[at].parent >= 0; at = nodes[at].parent) path.push(nodes[at].frame);
      path.reverse();
      for (const begin of all) if (beginsWith(profile, begin, path)) yield begin;
    },
  };
}

/** Whether a node and those above it are of these frames. */
function beginsWith(profile, begin, path) {
  let at = begin;
  return path.every((frame) => {
    const same = at !== ROOT && profile.frame[at] === frame;
    at = profile.parent[at];
    return same;
  });
}

function childrenOf(tree, node, order) {
  if (tree.order !== order) {
    for (const list of tree.sorted.values()) list.sort(order.compare(tree));
    tree.order = order;
  }
  let list = tree.sorted.get(node);
  if (!list) {
    list = tree.below(node).sort(order.compare(tree));
    tree.sorted.set(node, list);
  }
  return list;
}

/** In the order of time a node stands where it was made. */
function ordersOf(names) {
  const byName = (tree, one, other) => {
    const a = names[tree.frame(one)], b = names[tree.frame(other)];
    return a < b ? -1 : a > b ? 1 : 0;
  };
  return {
    value: { falling: true, compare: (tree) => (a, b) => tree.total(b) - tree.total(a) || byName(tree, a, b) },
    name: { falling: false, compare: (tree) => (a, b) => byName(tree, a, b) },
    time: { falling: false, compare: () => (a, b) => a - b },
  };
}

/** From where to where a node reaches, in amounts from the left end of the whole. */
function intervalOf(tree, node, order) {
  let from = 0;
  for (let at = node; tree.parent(at) >= 0; at = tree.parent(at)) {
    for (const child of childrenOf(tree, tree.parent(at), order)) {
      if (child === at) break;
      from += tree.total(child);
    }
  }
  return { from, to: from + tree.total(node) };
}

/** The boxes to be seen, level by level: a function of tree, view and width, as expensive as what it finds. */
function layout(tree, view, width, order) {
  const scale = width / (view.to - view.from);
  const boxAt = (node, from, amount) => ({ node, from, left: (from - view.from) * scale, width: amount * scale });
  const rows = [];
  let row = [boxAt(ROOT, 0, tree.total(ROOT))];
  while (row.length) {
    rows.push(row);
    const next = [];
    for (const box of row) if (!box.smaller) next.push(...boxesOn(tree, box, view, scale, order, boxAt));
    row = next;
  }
  return rows;
}

/** What is wide enough of the children of a box. In falling order the others stand together, as one box that says
 * how many of them there are. */
function boxesOn(tree, { node, from: start }, view, scale, order, boxAt) {
  const found = [], children = childrenOf(tree, node, order);
  let from = start;
  for (let at = 0; at < children.length && from < view.to; at++) {
    const amount = tree.total(children[at]);
    if (amount * scale >= THINNEST) {
      if (from + amount > view.from) found.push(boxAt(children[at], from, amount));
    } else if (order.falling) {
      const rest = start + tree.inner(node) - from;
      if (rest * scale >= 1 && from + rest > view.from) {
        found.push({ ...boxAt(null, from, rest), smaller: children.length - at });
      }
      break;
    }
    from += amount;
  }
  return found;
}

/** The path to a node as frames, runs of one frame as `5*300`; and back. */
function pathOf(tree, node) {
  const runs = [];
  for (let at = node; tree.parent(at) >= 0; at = tree.parent(at)) {
    const last = runs[runs.length - 1];
    if (last && last[0] === tree.frame(at)) last[1]++;
    else runs.push([tree.frame(at), 1]);
  }
  return runs.reverse().map(([frame, times]) => (times > 1 ? `${frame}*${times}` : `${frame}`)).join(".");
}

function follow(tree, path, order) {
  let node = ROOT;
  for (const run of path ? path.split(".") : []) {
    const [frame, times] = run.split("*").map(Number);
    for (let time = 0; time < (times || 1); time++) {
      const next = childrenOf(tree, node, order).find((child) => tree.frame(child) === frame);
      if (next === undefined) return node;
      node = next;
    }
  }
  return node;
}
