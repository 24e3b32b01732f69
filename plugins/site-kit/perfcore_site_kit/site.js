// What the pages of a site do beside their charts and tables.

for (const box of document.querySelectorAll("input[data-enhanced]")) box.hidden = false;
