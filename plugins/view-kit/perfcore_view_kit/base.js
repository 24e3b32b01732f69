// Pixels of a line on paper: A4 with margins of a centimetre. Some browsers have a page still as wide as the window when
// they say that it is to be printed.
const PAPER = 718;

// Elements of the page.

const $ = (id) => document.getElementById(id);

function element(tag, text = "", facts = {}) {
  return Object.assign(document.createElement(tag), { textContent: text, ...facts });
}

function around(tag, className, ...inside) {
  const made = element(tag, "", { className });
  made.append(...inside);
  return made;
}
