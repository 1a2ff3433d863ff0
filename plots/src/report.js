"use strict";
// Tables are sorted by a click on a heading: numbers by their value, an interval behind them or a unit left aside.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  if (!table.tHead || !body || body.rows.length < 3) continue;
  const number = (text) => {
    const found = /^[^\d-]*(-?[\d.,]+(?:e[+-]?\d+)?)/i.exec(text.replace(/^1\/(?=\d)/, ""));
    return found && /^[\s\d.,%±×–-]|^1\//.test(text) ? Number(found[1].replaceAll(",", "")) : NaN;
  };
  const cell = (row, column) => (row.cells[column]?.textContent ?? "").trim();
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const keyed = [...body.rows].map((row) => [cell(row, column), row]);
      const known = keyed.filter(([text]) => text !== "" && text !== "–");
      const numeric = known.every(([text]) => !Number.isNaN(number(text)));
      known.sort(([a], [b]) => (numeric ? number(a) - number(b) : a.localeCompare(b, "en", { numeric: true })));
      if (down) known.reverse();
      // What was not measured stays behind.
      const rest = keyed.filter((entry) => !known.includes(entry));
      body.append(...[...known, ...rest].map(([, row]) => row));
    });
  });
}
// Points and bars say what they are at once, not after a browser's wait for titles.
const tip = document.createElement("div");
tip.className = "tip";
tip.setAttribute("role", "status");
tip.hidden = true;
document.body.append(tip);
for (const title of document.querySelectorAll("figure svg rect > title")) {
  title.parentNode.dataset.says = title.textContent;
  title.remove();
}
document.addEventListener("pointermove", (event) => {
  const says = event.target.dataset?.says;
  tip.hidden = !says;
  if (!says) return;
  tip.textContent = says;
  const { innerWidth: width, innerHeight: height } = window;
  const left = Math.min(event.clientX + 14, width - tip.offsetWidth - 8);
  const below = event.clientY + 18 + tip.offsetHeight < height;
  tip.style.left = `${Math.max(left, 8)}px`;
  tip.style.top = `${below ? event.clientY + 18 : event.clientY - tip.offsetHeight - 12}px`;
});
