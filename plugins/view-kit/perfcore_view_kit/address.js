// The address of the page holds what is shown, and the theme, which everybody may switch.

const address = (() => {
  let words = new URLSearchParams(location.hash.slice(1));
  const listeners = [];
  let waiting = 0;

  function write() {
    waiting = 0;
    words.sort();
    // A word without a value is the place that a link led to, and stays as it was.
    const text = words.toString().replace(/=(?=&|$)/g, "");
    if (text === location.hash.slice(1)) return;
    try {
      history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
    } catch {
      // A page within another one may not change its address; it works without.
    }
  }

  window.addEventListener("hashchange", () => {
    words = new URLSearchParams(location.hash.slice(1));
    for (const listener of listeners) listener();
  });

  return {
    get: (key) => words.get(key) || "",
    /** An empty value takes the key out. Browsers refuse to write the address at every step of a movement. */
    set(key, value) {
      if (value) words.set(key, value);
      else words.delete(key);
      waiting ||= setTimeout(write, 150);
    },
    onChange: (listener) => listeners.push(listener),
  };
})();

const theme = (() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const forced = matchMedia("(forced-colors: active)");
  const paper = matchMedia("print"); // which is light
  const listeners = [];
  const isDark = () => !paper.matches && (["dark", "light"].includes(address.get("theme")) ? address.get("theme") === "dark" : system.matches);

  /** Listeners draw at once: paper does not wait for the next frame. */
  function apply() {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    const button = $("theme");
    if (button) button.setAttribute("aria-pressed", String(isDark()));
    for (const listener of listeners) listener();
  }

  function toggle() {
    address.set("theme", isDark() === system.matches ? (isDark() ? "light" : "dark") : "");
    apply();
  }

  for (const media of [system, forced, paper]) media.addEventListener("change", apply);
  address.onChange(apply);
  apply();
  if ($("theme")) $("theme").addEventListener("click", toggle);
  return { toggle, onChange: (listener) => listeners.push(listener), isForced: () => forced.matches, isPaper: () => paper.matches };
})();
