"use strict";
(() => {
  const make = (name, text, attributes) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    return made;
  };
  const number = (value) => value === null || value === undefined ? "NA" : Math.trunc(value).toLocaleString("en");
  const time = (s) => s < 90 ? `${Math.round(s)} s` : s < 5400 ? `${Math.round(s / 60)} min` : `${(s / 3600).toFixed(1)} h`;

  // ---- a lab, as it runs ---------------------------------------------------------------------------
  const plots = new Map();
  const color = (index) => getComputedStyle(document.documentElement).getPropertyValue(`--c${index}`);

  /// Draws a chart, or its new numbers where it is there with the same lines.
  const chart = (into, key, title, times, lines) => {
    const names = JSON.stringify(lines.map((line) => line.name));
    const columns = [times, ...lines.map((line) => line.values)];
    const known = plots.get(key);
    if (known && known.names === names) { known.plot.setData(columns); return known.figure; }
    if (known) known.figure.remove();
    const figure = make("figure");
    figure.append(make("figcaption", title));
    const box = make("div", undefined, { role: "img", "aria-label": title });
    figure.append(box);
    into.append(figure);
    const axis = { stroke: color(5), grid: { stroke: getComputedStyle(document.documentElement).getPropertyValue("--line"), width: 1 } };
    const plot = new uPlot({
      width: box.clientWidth, height: 190, scales: { x: { time: false }, y: { range: (_, __, most) => [0, (most || 1) * 1.05] } },
      axes: [{ ...axis, values: (_, all) => all.map((s) => `${s} s`) }, { ...axis, size: 62 }], cursor: { y: false },
      series: [{ label: "s" }, ...lines.map((line) => ({ label: line.name, stroke: color(line.color), width: 1.5, dash: line.dash === "dashed" ? [5, 4] : undefined }))],
    }, columns, box);
    // The first of several stands alone for a moment, and is wider then.
    new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: 190 })).observe(box);
    plots.set(key, { plot, figure, names });
    return figure;
  };

  /// What a transaction waits for, a bar for each part.
  const account = (into, parts) => {
    const known = into.querySelector("[data-account]");
    const figure = known || into.appendChild(make("figure", undefined, { "data-account": "" }));
    figure.hidden = !parts.length;
    const total = parts.reduce((sum, part) => sum + part.time_us, 0);
    const body = make("tbody");
    for (const part of parts) {
      const row = make("tr"), share = Math.max(part.time_us, 0) / (total || 1), cell = make("td"), bar = make("div", undefined, { class: "share" });
      bar.style.width = `${100 * share}%`;
      cell.append(bar);
      row.append(make("th", part.title, { scope: "row" }), make("td", (part.time_us / 1000).toFixed(2), { class: "num" }), make("td", `${Math.round(100 * share)} %`, { class: "num" }), cell);
      body.append(row);
    }
    const table = make("table");
    table.append(body);
    figure.replaceChildren(make("figcaption", `A transaction of ${(total / 1000).toFixed(1)} ms in the window so far, ms`), table);
  };

  const running = (section, of, throughput) => {
    section.hidden = !of;
    if (!of) return;
    if (section.dataset.which !== `${of.cell} ${of.repeat}`) {
      section.dataset.which = `${of.cell} ${of.repeat}`;
      section.replaceChildren(make("h2", `${of.cell}, repeat ${of.repeat}`), make("p"), make("progress", undefined, { "aria-label": "How far the repeat is" }), make("div", undefined, { class: "charts" }));
      plots.clear();
    }
    const total = of.warmup_s + of.window_s, bar = section.querySelector("progress");
    bar.max = total; bar.value = Math.min(of.elapsed_s, total);
    const primary = of.series.types[of.series.primary];
    const last = primary && primary.per_minute.length ? `, ${number(primary.per_minute.at(-1))} ${throughput} now` : "";
    const phase = of.elapsed_s === 0 ? "being prepared" : of.elapsed_s < of.warmup_s ? "warm-up" : "window";
    section.querySelector("p").textContent = `${phase}: ${time(of.elapsed_s)} of ${time(total)}${of.dilation ? ", " + of.dilation : ""}${last}`;
    const charts = section.querySelector(".charts");
    if (primary) {
      chart(charts, "throughput", throughput, of.series.time_s, [{ name: throughput, color: 1, values: primary.per_minute }]);
      chart(charts, "p95", "Response time p95, ms", of.series.time_s, of.series.names.filter(([name]) => of.series.types[name]).map(([name, title], at) => ({ name: title, color: at + 1, values: of.series.types[name].p95_ms })));
    }
    account(charts, of.account);
    of.observed.panels.forEach((panel) => chart(charts, panel.name, `${panel.title}, ${panel.axis}`, of.observed.time_s, panel.lines));
  };

  const matrix = (body, lab) => body.replaceChildren(...lab.cells.map((cell) => {
    const row = make("tr"), of = lab.running && lab.running.cell === cell.label;
    if (of) row.className = "now";
    const repeats = make("td");
    cell.repeats.forEach((repeat) => {
      const text = repeat.throughput !== null ? number(repeat.throughput) : repeat.reason_code || repeat.status;
      repeats.append(make("span", text, { class: "tag", "data-status": repeat.status }));
    });
    row.append(make("th", `${cell.ordinal}: ${cell.label}`, { scope: "row" }), repeats);
    return row;
  }));

  const follow = (page) => {
    const [state, lost] = ["state", "connection"].map((id) => document.getElementById(id));
    const source = new EventSource(page.dataset.events);
    source.onopen = () => { lost.hidden = true; };
    source.onerror = () => {
      lost.hidden = false;
      // A refusal ends it for good; the server may come back.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => follow(page), 2000);
    };
    source.onmessage = (event) => {
      const lab = JSON.parse(event.data);
      if (lab.problem) { state.textContent = lab.problem; return; }
      const far = lab.turns === null ? "" : `, ${lab.ended} of ${lab.turns} repeats`;
      const left = lab.left_s ? `, ${time(lab.left_s)} left` : "";
      state.textContent = `${lab.status}${far}${left}${lab.reason ? ": " + lab.reason : ""}`;
      running(document.getElementById("running"), lab.running, lab.throughput);
      matrix(document.getElementById("matrix"), lab);
      document.body.dataset.version = String(1 + Number(document.body.dataset.version || 0));
    };
  };
  const page = document.querySelector("[data-events]");
  if (page) follow(page);

  // ---- a plan, while it is edited ------------------------------------------------------------------
  const form = document.querySelector("[data-plan]");
  if (form) {
    const text = form.querySelector("textarea"), needs = document.getElementById("needs");
    let later, asked = 0;
    const lineOf = (words) => { const found = /(?:line |the plan:)(\d+)/.exec(words); return found && Number(found[1]); };
    const mark = () => {
      const line = lineOf(needs.textContent);
      if (!line || !needs.querySelector(".problem")) return;
      const button = make("button", `Go to line ${line}`, { type: "button" });
      button.onclick = () => {
        const lines = text.value.split("\n"), from = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
        text.focus(); text.setSelectionRange(from, from + (lines[line - 1] || "").length);
      };
      needs.append(button);
    };
    text.oninput = () => {
      clearTimeout(later);
      later = setTimeout(async () => {
        const turn = ++asked;
        try {
          const answer = await fetch("/plan/check", { method: "POST", body: new URLSearchParams({ text: text.value }) });
          const words = await answer.text();
          // An answer to an earlier text says nothing of this one.
          if (turn !== asked) return;
          if (answer.ok) needs.innerHTML = words;
          else needs.replaceChildren(make("p", `It cannot be checked: ${answer.status}`, { class: "problem" }));
          mark();
        } catch {
          needs.replaceChildren(make("p", "The connection to mydyno is lost.", { class: "problem" }));
        }
      }, 400);
    };
    mark();
  }
})();
