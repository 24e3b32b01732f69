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
