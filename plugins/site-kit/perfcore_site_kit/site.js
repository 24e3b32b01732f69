// What the pages of a site do beside their charts and tables.

/** The table of what is measured now, kept up to date by events of the server. */
function followLive(table) {
  const state = $("live-state"), answer = document.querySelector(".answer");
  const source = new EventSource(table.dataset.events);
  source.addEventListener("message", (event) => {
    const rows = JSON.parse(event.data);
    table.tBodies[0].replaceChildren(...rows.map((row) => {
      const head = element("th", row.label, { className: "text", scope: "row" });
      const version = around("td", "text", element("code", row.version));
      const runs = `${row.runs}${row.planned ? ` of ${row.planned}` : ""}`;
      const cells = [version, element("td", row.collector, { className: "text" }), element("td", runs),
        element("td", row.is_complete ? "complete" : "incomplete", { className: "text" })];
      return around("tr", "", head, ...cells);
    }));
    const incomplete = rows.filter((row) => !row.is_complete).length;
    answer.textContent = rows.length ? `${incomplete || "None"} of ${pluralText(rows.length, "pending profile")} ${incomplete < 2 ? "is" : "are"} incomplete.`
      : "Nothing is measured now, and nothing waits to be registered.";
    state.textContent = "Up to date.";
  });
  source.addEventListener("error", () => { state.textContent = "The server does not answer; trying again."; });
}

if ($("live")) followLive($("live"));

/** A page that is not there yet: it is asked for until it is. */
async function waitForPage(state) {
  for (;;) {
    await new Promise((done) => { setTimeout(done, 1000); });
    try {
      const answer = await fetch(location.href);
      if (answer.status !== 503) break;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      state.textContent = page.getElementById("waiting").textContent;
    } catch {
      state.textContent = "The server does not answer; trying again.";
    }
  }
  location.reload();
}

if ($("waiting")) waitForPage($("waiting"));

/** A comparison that the server had not made yet, taken from its page. Its links are relative to that page. */
async function loadComparison(target) {
  target.append(element("span", " The checks compare them now.", { className: "soft" }));
  const address = new URL(target.dataset.load, location.href);
  try {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const section = page.querySelector("#side-1").parentElement;
    for (const link of section.querySelectorAll("a[href]")) link.href = new URL(link.getAttribute("href"), address);
    const parts = [...section.children].filter(({ tagName }) => tagName !== "H2");
    const tables = parts.flatMap((part) => [...part.querySelectorAll("table.sortable")]);
    target.replaceWith(element("p", page.querySelector(".answer").textContent), ...parts);
    for (const table of tables) sortableTable(table);
  } catch {
    target.lastChild.textContent = " The server did not answer; the link leads to the comparison.";
  }
}

(async () => {
  for (const target of document.querySelectorAll("[data-load]")) await loadComparison(target);
})();
