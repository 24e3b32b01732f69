// What every page of the folder does: the theme, which all of them share, and the way from one hot line to the next.

const address = { get: () => "", set() {}, onChange() {} }; // the address names a line, so it holds no state

const theme = (() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const KEY = "perf-theme";

  function chosen() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // a browser may refuse to keep anything
    }
  }

  const isDark = () => (["dark", "light"].includes(chosen()) ? chosen() === "dark" : system.matches);

  function apply() {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    $("theme").setAttribute("aria-pressed", String(isDark()));
  }

  function toggle() {
    try {
      localStorage.setItem(KEY, isDark() ? "light" : "dark");
      apply();
    } catch {
      const root = document.documentElement;
      root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    }
  }

  system.addEventListener("change", apply);
  window.addEventListener("storage", apply);
  $("theme").addEventListener("click", toggle);
  apply();
  return { toggle };
})();

const hot = (() => {
  // Lines of at least the third step; where there are none, all with a step.
  const steps = [[3, 8], [1, 8]];
  const rows = steps.map(([from, to]) => {
    const classes = Array.from({ length: to - from + 1 }, (_, at) => `td.h${from + at}`).join(",");
    return [...document.querySelectorAll(classes)].map((cell) => cell.parentElement);
  }).find((list) => list.length) || [];
  let at = -1;

  function go(step) {
    if (!rows.length) return;
    if (at >= 0) rows[at].classList.remove("now");
    at = at < 0 ? (step > 0 ? 0 : rows.length - 1) : (at + step + rows.length) % rows.length;
    const row = rows[at];
    row.classList.add("now");
    row.scrollIntoView({ block: "center" });
    const [line, own, total] = [...row.cells].map((cell) => cell.textContent);
    $("said").textContent = `Hot line ${at + 1} of ${rows.length}: line ${line}, own ${own} %, total ${total} %`;
  }

  return { go };
})();

function toggleCalls() {
  const hidden = document.body.classList.toggle("no-calls");
  $("calls").setAttribute("aria-pressed", String(!hidden));
}

const KEYS = { n: () => hot.go(1), p: () => hot.go(-1), c: () => $("calls") && toggleCalls(), d: theme.toggle };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  if (Object.hasOwn(KEYS, event.key)) KEYS[event.key]();
});
for (const [id, act] of [["next", KEYS.n], ["previous", KEYS.p], ["calls", KEYS.c]]) {
  if ($(id) && $(id).tagName === "BUTTON") $(id).addEventListener("click", act);
}
