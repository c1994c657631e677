// Timelines that can be zoomed and read: a part that is dragged over, keys, a wheel. Without this
// script they are pictures. Listeners are the document's, so that a timeline may come later.
(() => {
  "use strict";
  const left = 190,
    width = 810,
    all = 1025; // of the spans in the picture, and of the picture
  const steps = [10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 43200, 86400].map((s) => s * 1e9);
  const timelineOf = (e) => (e.target instanceof Element ? e.target.closest(".timeline") : null);

  // stepFor returns the round time in nanoseconds between at most ten ticks of a length.
  const stepFor = (length) => {
    const decimal = 10 ** Math.floor(Math.log10(length / 10));
    for (const step of [1, 2, 5, 10].map((n) => n * decimal)) {
      if (length / step <= 10 && step <= steps[0]) return step;
    }
    return steps.find((s) => length / s <= 10) ?? steps.at(-1);
  };

  // text writes a time as the rest of the page does.
  const text = (nanos) => {
    if (nanos >= 60e9) return Math.floor(nanos / 60e9) + "m" + number((nanos % 60e9) / 1e9) + "s";
    const [unit, name] = [
      [1e9, "s"],
      [1e6, "ms"],
      [1e3, "µs"],
    ].find(([u]) => nanos >= u) ?? [1, nanos ? "ns" : "s"];
    return number(nanos / unit) + name;
  };
  const number = (n) => String(Number(n.toPrecision(9)));

  const view = (timeline) => {
    const box = timeline.querySelector(".spans").viewBox.baseVal;
    return [box.x, box.width];
  };

  // show shows a part of a timeline: where it begins, and how wide it is, of 810.
  const show = (timeline, x, w) => {
    w = Math.min(Math.max(w, width / 1e5), width);
    x = Math.min(Math.max(x, 0), width - w);
    const spans = timeline.querySelector(".spans"),
      height = spans.viewBox.baseVal.height;
    spans.setAttribute("viewBox", `${x} 0 ${w} ${height}`);
    const nanos = Number(timeline.dataset.nanos),
      begin = (x / width) * nanos,
      length = (w / width) * nanos;
    const ticks = timeline.querySelector(".ticks"),
      step = stepFor(length),
      list = [];
    for (let n = Math.ceil(begin / step - 1e-9); n * step <= begin + length * (1 + 1e-9); n++) {
      const at = left + ((n * step - begin) / length) * width;
      const line = document.createElementNS(ticks.namespaceURI, "line");
      const label = document.createElementNS(ticks.namespaceURI, "text");
      for (const [name, value] of [
        ["x1", at],
        ["x2", at],
        ["y1", 0],
        ["y2", height],
      ])
        line.setAttribute(name, value);
      for (const [name, value] of [
        ["x", at],
        ["y", -4],
        ["text-anchor", "middle"],
        ["class", "dim"],
      ])
        label.setAttribute(name, value);
      label.textContent = text(n * step);
      list.push(line, label);
    }
    ticks.replaceChildren(...list);
  };

  // zoom shows so much of what is in view, around a place of it from 0 to 1.
  const zoom = (timeline, part, place) => {
    const [x, w] = view(timeline),
      to = Math.min(w * part, width);
    show(timeline, x + (w - to) * place, to);
  };

  // placeOf returns where in what is in view the pointer is, from 0 to 1.
  const placeOf = (timeline, e) => {
    const box = timeline.querySelector(":scope > svg").getBoundingClientRect();
    return Math.min(Math.max((((e.clientX - box.left) / box.width) * all - left) / width, 0), 1);
  };

  const keys = {
    "+": (t) => zoom(t, 0.5, 0.5),
    "=": (t) => zoom(t, 0.5, 0.5),
    "-": (t) => zoom(t, 2, 0.5),
    ArrowLeft: (t) => {
      const [x, w] = view(t);
      show(t, x - w / 4, w);
    },
    ArrowRight: (t) => {
      const [x, w] = view(t);
      show(t, x + w / 4, w);
    },
    0: (t) => show(t, 0, width),
    Escape: (t) => show(t, 0, width),
  };
  document.addEventListener("keydown", (e) => {
    if (
      !(e.target instanceof Element) ||
      !e.target.matches(".timeline") ||
      !keys[e.key] ||
      e.ctrlKey ||
      e.metaKey ||
      e.altKey
    )
      return;
    keys[e.key](e.target);
    e.preventDefault();
  });

  // A wheel zooms a timeline that has the focus, and scrolls the page elsewhere; a pinch always zooms.
  document.addEventListener(
    "wheel",
    (e) => {
      const timeline = timelineOf(e);
      if (!timeline || !(e.ctrlKey || timeline.contains(document.activeElement))) return;
      zoom(timeline, e.deltaY < 0 ? 0.8 : 1.25, placeOf(timeline, e));
      e.preventDefault();
    },
    { passive: false },
  );

  let drag = null; // {timeline, from, mark}
  document.addEventListener("pointerdown", (e) => {
    const timeline = timelineOf(e);
    if (!timeline || e.button !== 0 || !e.target.closest("svg")) return;
    drag = { timeline, from: placeOf(timeline, e), mark: null };
  });
  document.addEventListener("pointermove", (e) => {
    if (drag) return void mark(placeOf(drag.timeline, e));
    const timeline = timelineOf(e),
      title = timeline && e.target.closest("rect")?.querySelector("title");
    if (title) timeline.querySelector(".readout").textContent = title.textContent;
  });
  const mark = (to) => {
    const picture = drag.timeline.querySelector(":scope > svg");
    drag.mark ??= picture.appendChild(document.createElementNS(picture.namespaceURI, "rect"));
    drag.mark.setAttribute("class", "mark");
    const [a, b] = [drag.from, to].sort((p, q) => p - q);
    for (const [name, value] of [
      ["x", left + a * width],
      ["width", (b - a) * width],
      ["y", 0],
      ["height", drag.timeline.querySelector(".spans").viewBox.baseVal.height],
    ])
      drag.mark.setAttribute(name, value);
  };
  document.addEventListener("pointerup", (e) => {
    if (!drag) return;
    const { timeline, from } = drag,
      [a, b] = [from, placeOf(timeline, e)].sort((p, q) => p - q),
      [x, w] = view(timeline);
    drag.mark?.remove();
    drag = null;
    if (b - a > 0.005) show(timeline, x + a * w, (b - a) * w);
  });
  document.addEventListener("pointercancel", () => {
    drag?.mark?.remove();
    drag = null;
  });
  document.addEventListener("dblclick", (e) => {
    const t = timelineOf(e);
    if (t) show(t, 0, width);
  });
})();
