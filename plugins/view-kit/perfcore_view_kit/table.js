// Tables that are sorted by their headings and filtered by a text.

function sortableTable(table) {
  const head = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const rows = [...body.rows].map((row, order) => ({ row, order }));
  const said = element("p", "", { className: "soft" });
  said.setAttribute("role", "status");
  let by = -1, isFalling = false;

  const keyOf = ({ row }, at) => {
    const cell = row.cells[at];
    return cell.dataset.key === undefined ? null : Number(cell.dataset.key);
  };

  function sort(at) {
    const isNumber = rows.some((row) => keyOf(row, at) !== null);
    isFalling = by === at ? !isFalling : isNumber;
    by = at;
    rows.sort((one, other) => {
      const [a, b] = isNumber ? [keyOf(one, at), keyOf(other, at)] : [one, other].map(({ row }) => row.cells[at].textContent);
      if (a === b) return one.order - other.order;
      if (a === null || b === null) return a === null ? 1 : -1;
      const order = isNumber ? a - b : a.localeCompare(b, "en", { numeric: true });
      return isFalling ? -order : order;
    });
    body.append(...rows.map(({ row }) => row));
    head.forEach((cell, number) => {
      cell.setAttribute("aria-sort", number === by ? (isFalling ? "descending" : "ascending") : "none");
      cell.firstChild.textContent = cell.dataset.title + (number === by ? (isFalling ? " ▾" : " ▴") : "");
    });
  }

  head.forEach((cell, at) => {
    cell.dataset.title = cell.textContent;
    const button = element("button", cell.textContent, { type: "button" });
    button.addEventListener("click", () => sort(at));
    cell.setAttribute("aria-sort", "none");
    cell.replaceChildren(button);
  });

  const input = element("input", "", { type: "search", placeholder: "part of a name" });
  const label = element("label", "Filter ");
  label.append(input);
  const kinds = [...new Set(rows.map(({ row }) => row.className).filter(Boolean))];
  const select = element("select");
  select.append(element("option", `all ${rows.length}`, { value: "" }), ...kinds.map((kind) =>
    element("option", `${kind.replaceAll("-", " ")} ${rows.filter(({ row }) => row.className === kind).length}`, { value: kind })));
  const choice = element("label", "Show ");
  choice.append(select);

  function filter() {
    const needle = input.value.trim().toLowerCase();
    let count = 0;
    for (const { row } of rows) {
      row.hidden = Boolean((needle && !row.textContent.toLowerCase().includes(needle)) || (select.value && row.className !== select.value));
      count += !row.hidden;
    }
    said.textContent = needle || select.value ? `${count} of ${rows.length} rows` : "";
    address.set("filter", input.value.trim());
    address.set("show", select.value);
  }

  function recall() {
    input.value = address.get("filter");
    select.value = kinds.includes(address.get("show")) ? address.get("show") : "";
    filter();
  }

  input.addEventListener("input", filter);
  select.addEventListener("change", filter);
  address.onChange(recall);
  table.closest(".scroll").before(around("div", "controls", label, ...(kinds.length > 1 ? [choice] : []), said));
  recall();
}

for (const table of document.querySelectorAll("table.sortable")) sortableTable(table);
