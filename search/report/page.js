"use strict";
(() => {
  const specs = JSON.parse(document.getElementById("figures").textContent);
  const NARROW = 760; // px: below it, panels stand under each other

  const colours = () => getComputedStyle(document.documentElement);

  // Colour tokens such as "@hms" become the values of the scheme in use.
  function painted(value, style) {
    if (typeof value === "string") return /^@[a-z]+$/.test(value) ? style.getPropertyValue("--" + value.slice(1)).trim() : value;
    if (Array.isArray(value)) return value.map((item) => painted(item, style));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, painted(item, style)]));
    }
    return value;
  }

  const axisNames = (layout, letter) =>
    Object.keys(layout).filter((key) => new RegExp("^" + letter + "axis\\d*$").test(key)).sort((a, b) => (parseInt(a.slice(5)) || 1) - (parseInt(b.slice(5)) || 1));

  // A long title of an axis takes two lines where there is little room.
  function foldTitle(title) {
    if (!title || !title.text || title.text.length < 36) return;
    const words = title.text.split(" "), half = title.text.length / 2;
    let first = "";
    while (words.length > 1 && (first + words[0]).length < half) first += words.shift() + " ";
    title.text = first.trim() + "<br>" + words.join(" ");
  }

  // Panels side by side where there is room, else under each other.
  function arrange(spec, available) {
    const width = spec.square && spec.panels === 1 ? Math.min(available, 600) : available;
    const layout = spec.layout, count = spec.panels || 1, margin = layout.margin;
    if (width < 560) {
      layout.font.size = 12;
      for (const name of axisNames(layout, "x")) foldTitle(layout[name].title);
    }
    if (count === 1 && !spec.square) return placeLegend(layout);
    const columns = width >= NARROW ? Math.min(count, 3) : 1, rows = Math.ceil(count / columns);
    const gapX = spec.square ? 24 : 80, gapY = spec.square ? 48 : 76;
    const room = width - margin.l - margin.r - (spec.square ? 84 : 0);
    const panelWidth = Math.min((room - gapX * (columns - 1)) / columns, spec.square ? 480 : Infinity);
    const panelHeight = spec.square ? panelWidth : rows === 1 || columns > 1 ? layout.height - margin.t - margin.b : 220;
    const inner = rows * panelHeight + (rows - 1) * gapY;
    layout.width = width;
    layout.height = inner + margin.t + margin.b;
    axisNames(layout, "x").forEach((name, index) => {
      const left = (index % columns) * (panelWidth + gapX) / room;
      layout[name].domain = [left, Math.min(1, left + panelWidth / room)];
    });
    axisNames(layout, "y").forEach((name, index) => {
      const top = 1 - Math.floor(index / columns) * (panelHeight + gapY) / inner;
      layout[name].domain = [Math.max(0, top - panelHeight / inner), top];
    });
    placeLegend(layout);
  }

  // The legend stands a fixed distance under the plot, whatever the plot's height.
  function placeLegend(layout) {
    if (!layout.showlegend) return;
    const inner = layout.height - layout.margin.t - layout.margin.b;
    layout.legend.y = -58 / inner;
    layout.height += 64;
    layout.margin = { ...layout.margin, b: layout.margin.b + 64 };
  }

  function draw(box) {
    const spec = painted(specs[box.dataset.figure], colours());
    const width = box.clientWidth;
    box.dataset.drawn = width;
    arrange(spec, width);
    const options = { displaylogo: false, responsive: false, displayModeBar: "hover", modeBarButtons: [["toImage"]] };
    return Plotly.react(box, spec.data, { width, ...spec.layout }, options);
  }

  async function loadPlotly() {
    if (!document.querySelector(".plot")) return;
    const packed = document.getElementById("plotly");
    const bytes = Uint8Array.from(atob(packed.textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    packed.remove();
  }

  async function drawAll() {
    for (const box of document.querySelectorAll(".plot")) {
      await draw(box);
      await new Promise((next) => setTimeout(next));
    }
  }

  function followChanges() {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
    const observer = new ResizeObserver((entries) => {
      for (const { target } of entries) if (target.clientWidth && Math.abs(target.clientWidth - target.dataset.drawn) > 2) draw(target);
    });
    document.querySelectorAll(".plot").forEach((box) => observer.observe(box));
  }

  // How old the page is; it loads again by itself only while its address ends in `?follow`, which a link asks for.
  function tellAge() {
    const written = document.getElementById("written"), link = document.getElementById("follow");
    if (!written) return;
    const ago = (Date.now() - Date.parse(written.dateTime)) / 60000;
    const [size, unit] = ago < 90 ? [1, "minute"] : ago < 2880 ? [60, "hour"] : [1440, "day"];
    const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(-Math.floor(ago / size), unit);
    document.getElementById("age").textContent = ago < 1 ? ", just now" : `, ${words}`;
    setTimeout(tellAge, 20000);
    if (!link || !link.hidden) return;
    link.hidden = false;
    if (location.search === "?follow") {
      link.textContent = "Reloads every minute: stop";
      link.href = location.pathname;
      setTimeout(() => location.reload(), 60000);
    }
  }

  tellAge();
  loadPlotly()
    .then(drawAll)
    .then(followChanges)
    .catch((error) => {
      console.error(error);
      document.getElementById("unpack-failed").hidden = false;
    })
    .finally(() => { document.documentElement.dataset.ready = "true"; });
})();
