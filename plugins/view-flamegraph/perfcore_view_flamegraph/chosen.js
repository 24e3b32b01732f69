// The chosen function: its lines of source, and its share over the versions of a history.

function showSource(head, frame, kind, unit, metric) {
  const section = $("source"), lines = frame >= 0 && head.sources[frame];
  section.hidden = !lines;
  if (!lines || section.dataset.shown === `${frame} ${metric}`) return;
  section.dataset.shown = `${frame} ${metric}`;
  const { title, rows } = lines;
  $("source-title").textContent = `${head.names[frame]} at ${title}`;
  const amount = (cost) => (cost ? quantity(cost[metric], unit) : "");
  const isDifference = rows.some((row) => row.length > 4);
  const titles = isDifference ? ["Edit", "Line", "Baseline", "Target", "Source"] : ["Line", "Own", "Total", "Source"];
  const heading = element("tr", "");
  heading.append(...titles.map((text) => element("th", text, { scope: "col" })));
  $("source-table").tHead.replaceChildren(heading);
  $("source-table").tBodies[0].replaceChildren(...rows.map((row) => {
    const line = element("tr", "");
    const cells = isDifference
      ? [row[4], row[0] || "", amount(row[1]), amount(row[2]), row[3]]
      : [row[0], amount(row[1]), amount(row[2]), row[3]];
    line.append(...cells.map((text) => element("td", String(text))));
    if (row[1] || row[2]) line.className = "costly";
    if (isDifference && row[4]) line.dataset.change = row[4];
    return line;
  }));
}

const CHART = { width: 600, height: 130, left: 66, right: 10, top: 10, bottom: 22 };

/** The share of a function in each version: amounts of the stacks that it is in. */
function sharesOf(source, metric, frame) {
  const inside = new Uint8Array(source.size), own = source.columns[metric];
  for (let node = 1; node < source.size; node++) {
    inside[node] = source.frame[node] === frame || inside[source.parent[node]] ? 1 : 0;
  }
  return own.map((values) => {
    let all = 0, mine = 0;
    for (let node = 0; node < source.size; node++) {
      all += values[node];
      if (inside[node]) mine += values[node];
    }
    return all ? mine / all : 0;
  });
}

function showHistory(source, state, profile, frame, choose) {
  const { head } = source, { versions } = head;
  const isWhole = frame === source.frame[ROOT];
  const shares = isWhole ? versions.map(() => 1) : sharesOf(source, state.metric, frame);
  const limit = Number($("limit").value) / 100;
  const passed = shares.findIndex((share) => share > limit);
  const name = head.names[frame];
  const words = passed < 0 ? `never above ${percent(limit, 1)}` : `first above ${percent(limit, 1)} in ${versions[passed].name} (${percent(shares[passed], 1)})`;
  $("share").textContent = `${name}: ${percent(shares[state.version], 1)} in ${versions[state.version].name}; ${words}.`;
  drawShares(head, shares, state.version, passed, limit, choose);
  const row = ({ name: title, subject, change }, at) => {
    const line = element("tr", "");
    line.append(...[title, subject, percent(shares[at], 1), change || ""].map((text) => element("td", text)));
    return line;
  };
  $("shares").tBodies[0].replaceChildren(...versions.map(row));
}

function drawShares(head, shares, version, passed, limit, choose) {
  const { width, height, left, right, top, bottom } = CHART;
  const most = Math.max(...shares, limit * 1.1, 1e-9);
  const x = (at) => left + ((width - left - right) * (shares.length > 1 ? at / (shares.length - 1) : 0.5));
  const y = (share) => height - bottom - ((height - top - bottom) * share) / most;
  const made = (tag, facts, text = "") => {
    const shape = document.createElementNS($("chart").namespaceURI, tag);
    for (const [key, value] of Object.entries(facts)) shape.setAttribute(key, String(value));
    shape.textContent = text;
    return shape;
  };
  const line = (x1, y1, x2, y2, kind) => made("line", { x1, y1, x2, y2, class: kind });
  const chart = $("chart");
  chart.setAttribute("aria-label", $("share").textContent);
  chart.replaceChildren(
    line(left, y(0), width - right, y(0), "axis"),
    line(left, y(limit), width - right, y(limit), "limit"),
    ...head.versions.flatMap(({ change }, at) => (change ? [line(x(at), top, x(at), y(0), "change")] : [])),
    line(x(version), top, x(version), y(0), "now"),
    made("polyline", { points: shares.map((share, at) => `${x(at)},${y(share)}`).join(" "), class: "share" }),
    ...shares.map((share, at) => {
      const dot = made("circle", { cx: x(at), cy: y(share), r: at === passed ? 5 : 3, class: at === passed ? "passed" : "dot" });
      dot.append(made("title", {}, `${head.versions[at].name}: ${percent(share, 1)}`));
      dot.addEventListener("click", () => choose(at));
      return dot;
    }),
    made("text", { x: left - 9, y: y(most) + 9, "text-anchor": "end" }, percent(most, 1)),
    made("text", { x: left - 9, y: y(0), "text-anchor": "end" }, "0"),
    made("text", { x: left, y: height - 6 }, head.versions[0].name),
    made("text", { x: width - right, y: height - 6, "text-anchor": "end" }, head.versions[shares.length - 1].name),
  );
}

function listenToHistory(changed) {
  $("limit").addEventListener("input", changed);
}
