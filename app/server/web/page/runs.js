// The views of all runs and of one: progress, plan, timeline, figures.
import { $, bytes, call, counted, element, notice, picture, plural, repeat, seconds } from "./api.js";
import { planTree } from "./plan.js";

// showBusy shows beside the view's name how many statements run, and wait.
export function showBusy() {
  repeat(
    async () => {
      try {
        const { running, waiting } = await call("runs");
        $("busy").textContent = running + waiting ? `(${running}${waiting ? " + " + waiting : ""})` : "";
        notice("");
      } catch (e) {
        if (e.status === 401) return false;
        notice(e.message);
      }
    },
    () => 5000,
  );
}

const live = (run) => run.state === "running" || run.state === "waiting";

// showRuns shows what runs and ran, until the signal is aborted.
export function showRuns(signal) {
  repeat(
    async () => {
      if (signal.aborted) return false;
      let runs;
      try {
        ({ runs } = await call("runs", undefined, signal));
      } catch {
        return !signal.aborted;
      }
      const focus = document.activeElement?.dataset?.focus;
      $("runs").replaceChildren(
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            ...["Run", "State", "Statement", "Client", "Began", "Waited", "Took", "Rows", "Read", "Action"].map(
              (n, i) => element("th", { scope: "col", class: i > 4 && i < 9 ? "number" : "" }, n),
            ),
          ),
        ),
        element("tbody", {}, ...runs.map(line)),
      );
      if (!runs.length)
        $("runs").replaceChildren(element("tbody", {}, element("tr", {}, element("td", {}, "Nothing has run yet."))));
      if (focus) document.querySelector(`[data-focus="${focus}"]`)?.focus();
    },
    () => 1000,
  );
}

function line(run) {
  const p = run.progress,
    part = live(run) && p && p.fraction >= 0 ? ` ${Math.round(p.fraction * 100)}%` : "";
  return element(
    "tr",
    {},
    element(
      "td",
      {},
      element(
        "a",
        { href: "#run/" + run.id, "data-focus": "run " + run.id, "aria-label": "Run " + run.id },
        String(run.id),
      ),
    ),
    element("td", { class: "state-" + run.state }, run.state + part),
    element("td", { class: "statement", title: run.text }, run.text.replace(/\s+/g, " ")),
    element("td", {}, run.client),
    element("td", {}, new Date(run.began).toLocaleTimeString()),
    element("td", { class: "number" }, run.waited < 0.001 ? "" : seconds(run.waited)),
    element("td", { class: "number" }, seconds(run.elapsed)),
    element("td", { class: "number" }, counted(run.rows)),
    element(
      "td",
      { class: "number" },
      run.stats ? bytes(run.stats.bytesRead) : p ? bytes(Math.max(p.bytesRead, 0)) : "",
    ),
    element("td", {}, live(run) ? canceller(run) : null),
  );
}

const canceller = (run) =>
  element(
    "button",
    {
      "data-focus": "cancel " + run.id,
      "aria-label": "Cancel run " + run.id,
      onclick: () => call(`runs/${run.id}/cancel`, {}).catch((e) => notice(e.message)),
    },
    "Cancel",
  );

// timelineOf returns a picture of when a run did what.
export const timelineOf = async (id) => element("div", {}, picture(await call(`runs/${id}/timeline`)));

// planOf returns the plan of a run as elements, or why it is not known.
export async function planOf(id) {
  try {
    return planTree((await call(`runs/${id}/plan`)).plan);
  } catch (e) {
    return element("p", { class: "dim" }, e.message);
  }
}

// showRun shows a run; while it runs, again and again.
export async function showRun(signal, id) {
  const view = $("view-run");
  view.replaceChildren();
  const head = element("div", { "aria-live": "polite" }),
    plan = element("div", {}),
    time = element("div", {}),
    figures = element("div", {});
  repeat(
    async () => {
      if (signal.aborted) return false;
      let run;
      try {
        run = await call("runs/" + id, undefined, signal);
      } catch (e) {
        if (!signal.aborted) view.replaceChildren(element("p", { class: "error", role: "alert" }, e.message));
        return false;
      }
      if (!view.firstChild) {
        view.append(
          element("h2", {}, "Run " + run.id),
          element("pre", {}, run.text),
          head,
          time,
          element("h2", {}, "Plan"),
          plan,
          figures,
        );
      }
      if (!plan.firstChild || !live(run)) plan.replaceChildren(await planOf(id)); // of a run that has ended, what it did
      head.replaceChildren(...about(run));
      // A timeline that the reader has zoomed stays as it is until the run has ended.
      if (run.record && (!live(run) || !time.contains(document.activeElement)))
        time.replaceChildren(await timelineOf(id));
      if (run.facts) {
        figures.replaceChildren(
          element("h2", {}, "Figures"),
          element(
            "table",
            { class: "facts" },
            element(
              "tbody",
              {},
              ...run.facts.map((f) => element("tr", {}, element("td", {}, f.Name), element("td", {}, f.Value))),
            ),
          ),
        );
      }
      return live(run);
    },
    () => 1000,
  );
}

function about(run) {
  const p = run.progress;
  return [
    element(
      "p",
      {},
      element("b", { class: "state-" + run.state }, run.state),
      ` after ${seconds(run.elapsed)}${run.waited > 0.001 ? `, ${seconds(run.waited)} of it waiting for a place` : ""}, ${plural(run.rows, "row")}`,
    ),
    live(run) && p
      ? element(
          "p",
          {},
          element("progress", { max: 1, value: p.fraction >= 0 ? p.fraction : null, "aria-label": "Progress" }),
          ` ${p.phase}, ${plural(p.rowsRead, "row")} read`,
        )
      : null,
    run.error ? element("pre", { class: run.state === "failed" ? "error" : "dim" }, run.error) : null,
    run.summary ? element("p", { class: "summary" }, run.summary) : null,
    element(
      "p",
      { class: "tools" },
      live(run) ? canceller(run) : null,
      element(
        "button",
        { onclick: () => document.dispatchEvent(new CustomEvent("edit", { detail: run.text })) },
        "Edit and run again",
      ),
      element("a", { href: `api/runs/${run.id}/report`, target: "_blank", rel: "noopener" }, "The whole report"),
    ),
  ].filter(Boolean);
}
