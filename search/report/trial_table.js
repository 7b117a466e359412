"use strict";
// The table of all trials: sorted, filtered and paged here, so that only the rows on view stand in the document.
(() => {
  const source = document.getElementById("trials-data");
  if (!source) return;
  const { columns, curves, paged } = JSON.parse(source.textContent);
  const ROWS = 100, NOTHING = "–";
  const $ = (id) => document.getElementById(id);
  const table = $("trial-table"), body = table.tBodies[0], pages = new Set(paged);
  const filter = $("trial-filter"), stateChoice = $("trial-state");
  const plainName = (text) => text.toLowerCase().replace(/[^a-z0-9]/g, "");
  const names = columns.map((column) => plainName(column.title));
  const count = columns[0].values.length;
  const shown = { column: null, descending: false, page: 0, rows: [] };

  const minus = (text) => text.replaceAll("-", "−");
  function significant(value) {
    if (Number.isInteger(value)) return minus(String(value));
    const short = Number(value.toPrecision(3));
    return minus(Math.abs(short) < 1e-4 ? short.toExponential() : String(short));
  }
  function duration(seconds) {
    for (const [from, size, unit] of [[172800, 86400, "d"], [5400, 3600, "h"], [120, 60, "min"]]) {
      if (seconds >= from) return `${(seconds / size).toFixed(1)} ${unit}`;
    }
    return `${seconds.toFixed(seconds >= 10 ? 0 : 1)} s`;
  }

  // What a cell says: a number in the column's format, or the word that stands in its place.
  function text(column, row) {
    const value = column.values[row];
    if (value === null || value === undefined) return column.kind === "text" || column.kind === "curve" ? "" : NOTHING;
    if (column.kind === "state") return value.replaceAll("_", " ");
    if (typeof value !== "number") return String(value);
    if (column.kind === "fixed") return minus(value.toFixed(column.digits));
    if (column.kind === "significant") return significant(value);
    return column.kind === "duration" ? duration(value) : String(value);
  }

  const starts = [0];
  for (const length of curves.lengths) starts.push(starts[starts.length - 1] + length);
  const grid = atob(curves.points);
  function curve(row) {
    const points = [];
    for (let i = starts[row]; i < starts[row + 1]; i++) {
      points.push(`${(2 + grid.charCodeAt(2 * i) / 255 * 80).toFixed(1)},${(2 + grid.charCodeAt(2 * i + 1) / 255 * 18).toFixed(1)}`);
    }
    const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    drawing.setAttribute("class", "spark");
    drawing.setAttribute("viewBox", "0 0 84 22");
    drawing.setAttribute("aria-hidden", "true");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    line.setAttribute("points", points.join(" "));
    drawing.append(line);
    return drawing;
  }

  const numeric = (column) => !["state", "text", "curve"].includes(column.kind);
  function cell(column, row) {
    const made = document.createElement(column.kind === "tid" ? "th" : "td"), value = text(column, row);
    if (numeric(column)) made.className = "n";
    if (column.kind === "curve") {
      if (curves.lengths[row]) made.append(curve(row));
    } else if (column.kind === "tid") {
      made.scope = "row";
      made.append(pages.has(column.values[row]) ? Object.assign(document.createElement("a"), { href: `trials/${value.padStart(6, "0")}.html`, textContent: value }) : value);
    } else if (column.kind === "state") {
      made.append(Object.assign(document.createElement("span"), { className: `state ${column.values[row].toLowerCase()}`, textContent: value }));
    } else {
      made.textContent = value;
    }
    return made;
  }

  // "hms > 0.15", "learning rate = 1e-3": conditions on a column; all other words must stand somewhere in the row.
  const CONDITION = /([\p{L}_][\p{L}\d_ ]*?)\s*(<=|>=|!=|<|>|=)\s*([^\s<>=]+)/gu;
  const COMPARE = { "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b, "=": (a, b) => a === b, "!=": (a, b) => a !== b };
  function wanted(query) {
    const tests = [], unknown = [];
    const rest = query.replace(CONDITION, (_, title, sign, limit) => {
      // Words before the column's name are words to look for.
      const parts = title.trim().split(/\s+/);
      let first = 0, index = -1;
      for (; first < parts.length && index < 0; first++) index = names.indexOf(plainName(parts.slice(first).join("")));
      if (index < 0) {
        unknown.push(title.trim());
        return " ";
      }
      const column = columns[index], number = Number(limit.replace("−", "-"));
      if (numeric(column) && !Number.isNaN(number)) {
        tests.push((row) => typeof column.values[row] === "number" && COMPARE[sign](column.values[row], number));
      } else {
        const word = limit.toLowerCase().replaceAll("_", " ");
        tests.push((row) => text(column, row).toLowerCase().includes(word) === (sign !== "!="));
      }
      return ` ${parts.slice(0, first - 1).join(" ")} `;
    });
    for (const word of rest.toLowerCase().split(/\s+/).filter(Boolean)) {
      tests.push((row) => columns.some((column) => text(column, row).toLowerCase().includes(word)));
    }
    return { tests, unknown };
  }

  function compare(column) {
    const direction = shown.descending ? -1 : 1, number = numeric(column);
    return (a, b) => {
      const first = column.values[a], second = column.values[b];
      // What has no value comes last, either way.
      const missing = (value) => value === null || (number && typeof value !== "number" && typeof second !== typeof first);
      if (missing(first) || missing(second)) return missing(first) - missing(second) || a - b;
      const order = typeof first === "number" && typeof second === "number" ? first - second : String(first).localeCompare(String(second));
      return direction * order || a - b;
    };
  }

  function choose() {
    const { tests, unknown } = wanted(filter.value);
    const state = stateChoice.value;
    if (state) tests.push((row) => columns[1].values[row] === state);
    const rows = [...Array(count).keys()].filter((row) => tests.every((test) => test(row)));
    shown.rows = shown.column === null ? rows : rows.sort(compare(columns[shown.column]));
    shown.page = 0;
    filter.setAttribute("aria-invalid", String(unknown.length > 0));
    $("trial-unknown").textContent = unknown.length ? `No column is named “${unknown.join("”, “")}”.` : "";
    draw();
  }

  function draw() {
    const pageCount = Math.max(1, Math.ceil(shown.rows.length / ROWS));
    shown.page = Math.min(Math.max(0, shown.page), pageCount - 1);
    const from = shown.page * ROWS, rows = shown.rows.slice(from, from + ROWS);
    body.replaceChildren(...rows.map((row) => {
      const line = document.createElement("tr");
      line.append(...columns.filter((column) => !column.hidden).map((column) => cell(column, row)));
      return line;
    }));
    [...table.tHead.rows[0].cells].forEach((head, index) => { head.hidden = Boolean(columns[index].hidden); });
    const all = shown.rows.length === count ? `${count}` : `${shown.rows.length} that match, ${count} in all`;
    $("trial-count").textContent = rows.length ? `Trials ${from + 1} to ${from + rows.length} of ${all}` : `No trial matches; ${count} in all`;
    $("trial-pages").hidden = pageCount === 1;
    $("trial-back").disabled = shown.page === 0;
    $("trial-on").disabled = shown.page === pageCount - 1;
  }

  function sortBy(index, head) {
    shown.descending = head.getAttribute("aria-sort") === "ascending";
    shown.column = index;
    table.querySelectorAll("[aria-sort]").forEach((other) => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", shown.descending ? "descending" : "ascending");
    choose();
  }

  function prepare() {
    columns.forEach((column, index) => {
      const head = document.createElement("th");
      head.scope = "col";
      if (numeric(column)) head.className = "n";
      if (column.kind === "curve") {
        head.textContent = column.title;
      } else {
        head.setAttribute("aria-sort", "none");
        const button = Object.assign(document.createElement("button"), { type: "button", textContent: column.title });
        button.addEventListener("click", () => sortBy(index, head));
        head.append(button);
      }
      table.tHead.rows[0].append(head);
      if (index) $("trial-columns").append(checkbox(column));
    });
    for (const state of [...new Set(columns[1].values)].sort()) {
      stateChoice.append(new Option(state.replaceAll("_", " "), state));
    }
    filter.addEventListener("input", choose);
    stateChoice.addEventListener("change", choose);
    for (const [id, step] of [["trial-back", -1], ["trial-on", 1]]) {
      $(id).addEventListener("click", () => {
        shown.page += step;
        draw();
        table.parentElement.scrollTop = 0;
      });
    }
    $("trial-controls").hidden = false;
    choose();
  }

  function checkbox(column) {
    const label = document.createElement("label"), box = Object.assign(document.createElement("input"), { type: "checkbox", checked: true });
    box.addEventListener("change", () => {
      column.hidden = !box.checked;
      draw();
    });
    label.append(box, ` ${column.title}`);
    return label;
  }

  prepare();
})();
