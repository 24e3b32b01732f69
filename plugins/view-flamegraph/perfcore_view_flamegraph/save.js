// The picture as a file.

function saved(blob, name) {
  const link = element("a", "", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function fileName(head, suffix) {
  return `${head.title.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 60) || "flamegraph"}.${suffix}`;
}

function savePng(pane, head) {
  pane.canvas.toBlob((blob) => blob && saved(blob, fileName(head, "png")));
}

/** What is shown, in boxes that other programs can edit. */
function saveSvg(pane, page, head) {
  const { width } = pane, height = pane.rows.length * ROW;
  const escaped = (text) => text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);
  const theme = page.theme();
  const lines = [
    `<svg xmlns="${$("chart").namespaceURI}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" font-size="12" font-family="system-ui, sans-serif">`,
    `<title>${escaped(head.title)}</title>`,
    `<rect width="${width}" height="${height}" fill="${theme.background}"/>`,
  ];
  pane.context.font = FONT;
  pane.rows.forEach((row, level) => {
    const top = page.flame(pane) ? height - (level + 1) * ROW : level * ROW;
    for (const box of row) {
      const left = Math.max(0, box.left), right = Math.min(width, box.left + box.width), wide = right - left - (right - left > 3 ? 1 : 0);
      const [fill, ink] = pane.inks(box, theme);
      const shown = right - left < 22 ? "" : pane.labelFor(box, right - left - 9);
      const name = box.smaller ? "" : page.label(pane.tree, box.node).join(" ").trim();
      lines.push(`<g><title>${escaped(name)}</title><rect x="${left.toFixed(2)}" y="${top}" width="${wide.toFixed(2)}" ` +
        `height="${ROW - 1}" fill="${fill}"/>` +
        (shown ? `<text x="${(left + 4).toFixed(2)}" y="${top + 14}" fill="${ink}">${escaped(shown)}</text>` : "") + "</g>");
    }
  });
  saved(new Blob([`${lines.join("\n")}\n</svg>\n`], { type: "image/svg+xml" }), fileName(head, "svg"));
}
