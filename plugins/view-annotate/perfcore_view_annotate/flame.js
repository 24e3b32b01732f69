// Arrow keys in the flame graph: up to the caller, down to the callee that takes most, left and right in a row.

(() => {
  const picture = $("flame");
  if (!picture) return;
  const boxes = [...picture.querySelectorAll("a")].map((link) => {
    const box = link.firstElementChild;
    const left = parseFloat(box.getAttribute("x"));
    return { link, depth: Number(link.dataset.d), left, right: left + parseFloat(box.getAttribute("width")) };
  });
  const SLACK = 0.002; // percent: positions are rounded

  const moves = {
    ArrowUp: (now) => boxes.find((box) => box.depth === now.depth - 1 && box.left <= now.left + SLACK && box.right >= now.right - SLACK),
    ArrowDown: (now) => boxes.filter((box) => box.depth === now.depth + 1 && box.left >= now.left - SLACK && box.right <= now.right + SLACK)
      .sort((one, other) => other.right - other.left - one.right + one.left)[0],
    ArrowLeft: (now) => boxes.filter((box) => box.depth === now.depth && box.left < now.left - SLACK).at(-1),
    ArrowRight: (now) => boxes.find((box) => box.depth === now.depth && box.left > now.left + SLACK),
    Home: () => boxes[0],
  };

  picture.addEventListener("keydown", (event) => {
    const now = boxes.find((box) => box.link === document.activeElement);
    const next = now && Object.hasOwn(moves, event.key) ? moves[event.key](now) : undefined;
    if (!next) return;
    event.preventDefault();
    now.link.setAttribute("tabindex", "-1");
    next.link.setAttribute("tabindex", "0");
    next.link.focus();
  });
})();
