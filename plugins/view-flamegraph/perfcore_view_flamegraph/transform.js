// What a tree becomes: of one thread or version, without what is hidden, in the order of time, around one function.

/** The tree in which nodes say the same once: `parent` and `frame` of nodes in any order that has parents first. Gives the
 * same in the order of a walk, and where each node has gone. */
function walked(parent, frame) {
  const size = parent.length;
  const first = new Int32Array(size).fill(-1), next = new Int32Array(size).fill(-1);
  for (let node = size - 1; node > 0; node--) {
    next[node] = first[parent[node]];
    first[parent[node]] = node;
  }
  const place = new Int32Array(size), ups = new Int32Array(size), boxes = new Int32Array(size), depth = new Int32Array(size);
  const waiting = [ROOT];
  for (let at = 0, last = -1; waiting.length; at++) {
    const node = waiting.pop();
    if (node) depth[node] = depth[parent[node]] + 1;
    ups[at] = at ? last + 1 - depth[node] : 0;
    last = depth[node];
    place[node] = at;
    boxes[at] = frame[node];
    const children = [];
    for (let child = first[node]; child >= 0; child = next[child]) children.push(child);
    while (children.length) waiting.push(children.pop());
  }
  return { tree: { size, frame: boxes, ...shapeOf(ups) }, place };
}

/** Grows a tree whose nodes are known by their parent and frame. */
function grower(frames, root) {
  const nodes = new Map(), parent = [-1], frame = [root];
  return {
    parent, frame,
    below(above, box) {
      const key = above * frames + box;
      let node = nodes.get(key);
      if (node === undefined) {
        node = parent.push(above) - 1;
        frame.push(box);
        nodes.set(key, node);
      }
      return node;
    },
  };
}

function summed(columns, place, size) {
  return columns.map((values) => {
    const sums = new Float64Array(size);
    for (let node = 0; node < values.length; node++) if (place[node] >= 0) sums[place[node]] += values[node];
    return sums;
  });
}

/** A profile without what the rules leave out: the stacks without the function in focus, hidden functions, a function that
 * calls itself, libraries within libraries, and the machinery of imports. What a node leaves goes to its caller.
 * `place[node]` is where a node has gone, -1 for nowhere. */
function ruled(profile, kinds, rules) {
  const { focus, hidden, folds } = rules;
  const plain = focus < 0 && !hidden.size && !folds.size;
  if (plain) return { profile, place: null };
  const { size, parent, frame } = profile;
  const grown = grower(kinds.length, frame[ROOT]);
  const place = new Int32Array(size).fill(-1), inside = new Uint8Array(size);
  place[ROOT] = focus < 0 ? ROOT : -1;
  inside[ROOT] = focus < 0 ? 1 : 0;
  for (let node = 1; node < size; node++) {
    const box = frame[node];
    const begins = !inside[parent[node]] && box === focus;
    inside[node] = inside[parent[node]] || begins ? 1 : 0;
    if (!inside[node]) continue;
    const above = begins ? ROOT : place[parent[node]];
    const caller = grown.frame[above];
    const merged = hidden.has(box) || (folds.has("p") && kinds[box] === 2) || (folds.has("r") && box === caller) ||
      (folds.has("l") && kinds[box] === 1 && above !== ROOT && kinds[caller] === 1);
    place[node] = merged ? above : grown.below(above, box);
  }
  return replaced(profile, grown, place);
}

/** The profile as the tree that was grown, with the amounts of each node where it has gone. */
function replaced(profile, grown, place) {
  const { tree, place: walk } = walked(grown.parent, grown.frame);
  const gone = place.map((node) => (node < 0 ? -1 : walk[node]));
  const [own, baseline, target] = summed([profile.own, profile.baseline, profile.target].filter(Boolean), gone, tree.size);
  return { profile: { ...tree, own, baseline, target }, place: gone };
}

/** The callees of a function, all places where it is called as one; it is the root. */
function calleesOf(profile, focus, frames) {
  const grown = grower(frames, focus);
  const place = new Int32Array(profile.size).fill(-1);
  for (let node = 1; node < profile.size; node++) {
    const above = place[profile.parent[node]];
    if (above >= 0) place[node] = grown.below(above, profile.frame[node]);
    else if (profile.frame[node] === focus) place[node] = ROOT;
  }
  return replaced(profile, grown, place).profile;
}

/** Its callers, as a tree that begins with the function; what calls itself counts once in each stack. */
function callersOf(profile, focus, frames) {
  const grown = grower(frames, focus);
  const columns = [profile.own, profile.baseline, profile.target].filter(Boolean);
  const totals = columns.map((values) => totalsOf(profile, values));
  const inside = new Uint8Array(profile.size), ends = [];
  for (let node = 1; node < profile.size; node++) {
    const within = inside[profile.parent[node]];
    inside[node] = within || profile.frame[node] === focus ? 1 : 0;
    if (within || profile.frame[node] !== focus) continue;
    let at = ROOT;
    for (let caller = profile.parent[node]; caller !== ROOT; caller = profile.parent[caller]) at = grown.below(at, profile.frame[caller]);
    ends.push([node, at]);
  }
  const { tree, place } = walked(grown.parent, grown.frame);
  const [own, baseline, target] = totals.map((values) => {
    const sums = new Float64Array(tree.size);
    for (const [node, at] of ends) sums[place[at]] += values[node];
    return sums;
  });
  return { ...tree, own, baseline, target };
}

/** Samples one after the other: what neighbours in time have in common from the root on is one box. */
function inTime(profile, place, { node: nodes, track }, values, chosen) {
  const parent = [-1], frame = [profile.frame[ROOT]], own = [0];
  let open = [ROOT], path = [ROOT]; // the nodes of the profile that are open, and their boxes
  for (let sample = 0; sample < nodes.length; sample++) {
    const node = place ? place[nodes[sample]] : nodes[sample];
    if ((chosen >= 0 && track[sample] !== chosen) || node < 0 || !(values[sample] > 0)) continue;
    const stack = [];
    for (let at = node; at !== ROOT; at = profile.parent[at]) stack.push(at);
    stack.push(ROOT);
    stack.reverse();
    let same = 1;
    while (same < open.length && same < stack.length && open[same] === stack[same]) same++;
    path = path.slice(0, same);
    for (let level = same; level < stack.length; level++) {
      path.push(parent.push(path[level - 1]) - 1);
      frame.push(profile.frame[stack[level]]);
      own.push(0);
    }
    open = stack;
    own[path[path.length - 1]] += values[sample];
  }
  const depth = new Int32Array(parent.length), ups = new Int32Array(parent.length);
  for (let node = 1; node < parent.length; node++) {
    depth[node] = depth[parent[node]] + 1;
    ups[node] = depth[node - 1] + 1 - depth[node];
  }
  return { size: parent.length, frame: Int32Array.from(frame), ...shapeOf(ups), own: Float64Array.from(own) };
}

/** The amounts by node that a metric has in the chosen version, thread or difference. */
function chosenAmounts(source, { metric, thread, version, base, scale }) {
  if (source.samples) {
    const own = new Float64Array(source.size), { node, track, values } = source.samples;
    for (let sample = 0; sample < node.length; sample++) {
      if (thread < 0 || track[sample] === thread) own[node[sample]] += values[metric][sample];
    }
    return { own };
  }
  const columns = source.columns[metric], { kind } = source.head;
  if (kind === "profile" || columns.length < 2) return { own: columns[0] };
  if (kind === "history" && base < 0) return { own: columns[version] };
  const baseline = columns[kind === "difference" ? 0 : base], after = columns[kind === "difference" ? 1 : version];
  const sum = (values) => values.reduce((so, value) => so + value, 0);
  const factor = scale === "total" && sum(after) > 0 && sum(baseline) > 0 ? sum(baseline) / sum(after) : 1;
  const target = factor === 1 ? after : after.map((value) => value * factor);
  return { own: baseline.map((value, node) => Math.max(value, target[node])), baseline, target };
}
