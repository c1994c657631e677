// The view of the server: what the process takes, over the last minutes.
import { $, bytes, call, counted, element, notice, repeat, seconds } from "./api.js";

const space = "http://www.w3.org/2000/svg",
  width = 300,
  height = 70;
let samples = [];

// showServer shows the server, until the signal is aborted.
export function showServer(signal) {
  repeat(
    async () => {
      if (signal.aborted) return false;
      try {
        const {
          limit,
          kept,
          samples: further,
        } = await call(`samples?after=${samples.at(-1)?.at ?? 0}`, undefined, signal);
        samples = samples.concat(further).filter((s) => s.at > (further.at(-1) ?? s).at - kept * 1000);
        if (samples.length) meters(limit);
        if (samples.at(-1)?.devices) devices((await call("runs", undefined, signal)).runs);
      } catch (e) {
        if (signal.aborted || e.status === 401) return false;
        notice(e.message);
      }
    },
    () => 2000,
  );
}

function meters(limit) {
  const now = samples.at(-1);
  $("meters").replaceChildren(
    meter("Memory of the process", (s) => s.resident, bytes, limit, `limit ${bytes(limit)}`),
    meter("Temporary tables in memory", (s) => s.temporary, bytes),
    meter("Statements that run", (s) => s.running, counted),
    meter("Statements that wait", (s) => s.waiting, counted),
    meter("Sessions", (s) => s.sessions, counted),
  );
  $("devices").hidden = !now.devices;
}

function devices(runs) {
  const percent = (v) => `${Math.round(v)}%`,
    rate = (v) => `${(v / 1e9).toFixed(1)} GB/s`;
  $("device-meters").replaceChildren(
    ...samples.at(-1).devices.flatMap((d, i) => {
      const of = (f) => (s) => (s.devices?.[i] ? f(s.devices[i]) : 0);
      return [
        meter(
          `${i}: ${d.name}, memory`,
          of((d) => d.memoryUsed),
          bytes,
          d.memoryBytes,
          `of ${bytes(d.memoryBytes)}`,
        ),
        meter(
          `${i}: time with a kernel`,
          of((d) => Math.max(d.utilization, 0)),
          percent,
          100,
        ),
        meter(
          `${i}: link, as fast as it is set`,
          of((d) => d.link),
          rate,
          d.linkMax,
          `at most ${rate(d.linkMax)}`,
        ),
      ];
    }),
  );
  const used = runs.filter((r) => r.stats?.devices);
  $("device-runs").hidden = !used.length;
  $("no-device-runs").hidden = used.length > 0;
  $("device-runs").replaceChildren(
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...["Run", "Statement", "Devices", "In", "Out", "Copies in", "Kernels", "Copies out"].map((n, i) =>
          element("th", { scope: "col", class: i > 2 ? "number" : "" }, n),
        ),
      ),
    ),
    element(
      "tbody",
      {},
      ...used.map(({ id, text, stats: s }) =>
        element(
          "tr",
          {},
          element("td", {}, element("a", { href: "#run/" + id }, String(id))),
          element("td", { class: "statement" }, text),
          element("td", {}, s.devices),
          ...[bytes(s.bytesIn), bytes(s.bytesOut), seconds(s.copyIn), seconds(s.kernel), seconds(s.copyOut)].map((v) =>
            element("td", { class: "number" }, v),
          ),
        ),
      ),
    ),
  );
}

// meter draws the values of the samples, from 0 to the greatest, or to a limit that is at hand.
function meter(name, value, text, limit, note = "") {
  const values = samples.map(value),
    most = Math.max(...values),
    end = samples.at(-1).at,
    length = Math.max(end - samples[0].at, 60e3);
  const near = limit && most > limit / 20,
    top = (near ? Math.max(limit, most) : most * 1.25) || 1;
  const points = samples.map(
    (s, i) =>
      `${(width - ((end - s.at) / length) * width).toFixed(1)},${(height - 2 - (values[i] / top) * (height - 6)).toFixed(1)}`,
  );
  const svg = document.createElementNS(space, "svg");
  const draw = (tag, attributes) => {
    const e = svg.appendChild(document.createElementNS(space, tag));
    for (const [key, v] of Object.entries(attributes)) e.setAttribute(key, v);
  };
  for (const [key, v] of Object.entries({
    viewBox: `0 0 ${width} ${height}`,
    preserveAspectRatio: "none",
    role: "img",
  }))
    svg.setAttribute(key, v);
  svg.setAttribute(
    "aria-label",
    `${name}: ${text(values.at(-1))} now, at most ${text(most)} in the last ${seconds(length / 1000)}`,
  );
  draw("polygon", {
    class: "area",
    points: `${points[0].split(",")[0]},${height - 2} ${points.join(" ")} ${width},${height - 2}`,
  });
  draw("polyline", { class: "curve", points: points.join(" ") });
  if (near)
    draw("line", {
      class: "limit",
      x1: 0,
      x2: width,
      y1: height - 2 - (limit / top) * (height - 6),
      y2: height - 2 - (limit / top) * (height - 6),
    });
  return element(
    "figure",
    {},
    element("figcaption", {}, name, element("b", {}, text(values.at(-1)))),
    svg,
    element(
      "small",
      {},
      element("span", {}, `${seconds(length / 1000)} ago`),
      element("span", {}, note || `at most ${text(most)}`),
    ),
  );
}
