"use strict";
// Draws the charts of a mydyno report with uPlot from the JSON in #data: tooltips, legends, logarithmic axes, data tables.
(function () {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("data").textContent);
  const drawn = [];

  // ---- numbers -----------------------------------------------------------------------------------------------------
  const group = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  function number(value) {
    if (value == null || !isFinite(value)) return "no data";
    if (value === 0) return "0";
    const digits = Math.max(0, Math.min(4, 2 - Math.floor(Math.log10(Math.abs(value)))));
    const [whole, rest] = value.toFixed(digits).split(".");
    return group(whole) + (rest ? "." + rest : "");
  }
  function tick(value) {
    if (value == null) return "";
    const text = String(+value.toPrecision(6));
    const [whole, rest] = text.split(".");
    return group(whole) + (rest ? "." + rest : "");
  }
  const pad = (n) => String(n).padStart(2, "0");
  // The form follows the length of the run: 12 s, 12:30 (m:ss), 1:12 or 1:12:30 (h:mm:ss).
  function clock(seconds, span) {
    if (span <= 180) return tick(+seconds.toFixed(3));
    const s = Math.round(seconds), h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
    return span > 7200 ? h + ":" + pad(m) + (s % 60 ? ":" + pad(s % 60) : "") : Math.floor(s / 60) + ":" + pad(s % 60);
  }
  function percentile(tail) {
    const p = 100 * (1 - 1 / tail);
    const decimals = Math.max(0, Math.ceil(Math.log10(tail) - 1e-9) - 2);
    return (tail < 10 ? p.toFixed(p % 1 ? 1 : 0) : p.toFixed(decimals)) + " %";
  }
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  // ---- axes --------------------------------------------------------------------------------------------------------
  const timeSteps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
  function axis(extra) {
    return Object.assign({ stroke: () => css("--soft"), font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif",
      grid: { stroke: () => css("--line"), width: 1 }, ticks: { stroke: () => css("--line"), width: 1, size: 4 }, labelSize: 20, gap: 4, labelGap: 2 }, extra);
  }
  function timeAxis(point, span) {
    const form = span <= 180 ? "seconds" : span > 7200 ? "h:mm" : "m:ss";
    return axis({ label: "time from the start of the run (" + form + ")", space: 64, size: 26, incrs: timeSteps.filter((s) => s >= Math.min(point, 60)),
      values: (u, splits) => splits.map((v) => clock(v, span)) });
  }
  // 1, 2, 5 of each decade; only the decades where those would crowd.
  function logSplits(min, max, most) {
    for (const steps of [[1, 2, 5], [1, 3], [1]]) {
      const all = [];
      for (let e = Math.floor(Math.log10(min)); e <= Math.ceil(Math.log10(max)); e++)
        for (const s of steps) { const v = +(s * Math.pow(10, e)).toPrecision(6); if (v >= min * 0.999 && v <= max * 1.001) all.push(v); }
      if (all.length <= most || steps.length === 1) return all;
    }
    return [];
  }
  function valueAxis(label, log, least) {
    return axis({ label, size: (u, values) => {
      const longest = (values || []).reduce((n, v) => Math.max(n, v ? v.length : 0), 0);
      return Math.max(least || 38, 14 + longest * 7); },
      values: (u, splits) => splits.map(tick),
      ...(log ? { splits: (u, i, min, max) => logSplits(min, max, Math.max(3, Math.floor(u.bbox.height / devicePixelRatio / 28))), filter: (u, s) => s } : { space: 34 }) });
  }
  const fromZero = (u, min, max) => [0, max > 0 ? max * 1.08 : 1];
  // Whiskers are no points of a line, and have to be seen whole; of one that ends below zero a logarithmic axis shows what it can.
  const around = (lines) => (u, min, max) => {
    const shown = (line, n) => u.series[n + 1].show ? (line.low || []).concat(line.high || []) : [];
    const all = [min, max].concat(lines.flatMap(shown)).filter((v) => v > 0);
    min = all.length ? Math.min(...all) : null; max = Math.max(...all);
    if (min == null || !(min > 0)) return [0.1, 10];
    const low = Math.pow(10, Math.floor(Math.log10(min) * 3) / 3), high = Math.pow(10, Math.ceil(Math.log10(max) * 3) / 3);
    return [low, high > low ? high : low * 2];
  };
  const upTo = (end) => ({ range: (u, min, max) => [0, Math.max(end, max || 0)] });
  const yScale = (log, lines) => log ? { distr: 3, range: around(lines) } : { range: fromZero };

  // A value with its unit and, where it has one, its interval.
  function written(line, i, unit) {
    if (line.y[i] == null) return "no data";
    const half = line.high && line.high[i] != null ? " ± " + number(line.high[i] - line.y[i]) : "";
    return number(line.y[i]) + half + (unit ? " " + unit : "");
  }

  // ---- plugins -----------------------------------------------------------------------------------------------------
  function tooltip(chart) {
    const tip = document.createElement("div");
    tip.className = "tip"; tip.hidden = true;
    return { hooks: {
      init: (u) => { u.over.appendChild(tip); u.over.addEventListener("mouseleave", () => { tip.hidden = true; }); },
      setCursor: (u) => {
        const i = u.cursor.idx;
        if (i == null || u.cursor.left < 0) { tip.hidden = true; return; }
        tip.replaceChildren();
        const head = document.createElement("b"); head.textContent = chart.at(u.data[0][i]); tip.append(head);
        chart.lines.forEach((line, n) => {
          if (!u.series[n + 1].show || line.quiet) return;
          const row = document.createElement("div"), dot = document.createElement("i"), value = document.createElement("span");
          dot.style.background = css(line.color);
          value.textContent = written(line, i, chart.unit);
          row.append(dot, line.name, value); tip.append(row);
        });
        tip.hidden = false;
        const width = tip.offsetWidth, left = u.cursor.left + 16;
        tip.style.left = (left + width > u.over.clientWidth ? Math.max(0, u.cursor.left - width - 16) : left) + "px";
        tip.style.top = Math.max(0, Math.min(u.cursor.top, u.over.clientHeight - tip.offsetHeight)) + "px";
      } } };
  }
  function windowMark(from, to) {
    return { hooks: { drawClear: (u) => {
      const ctx = u.ctx, { left, top, width, height } = u.bbox;
      const x = (v) => Math.max(left, Math.min(left + width, u.valToPos(v, "x", true)));
      ctx.save();
      ctx.fillStyle = css("--warmup");
      if (x(from) > left) ctx.fillRect(left, top, x(from) - left, height);
      if (x(to) < left + width - 1) ctx.fillRect(x(to), top, left + width - x(to), height);
      ctx.restore();
    } } };
  }
  function whiskers(lines) {
    return { hooks: { draw: (u) => {
      const ctx = u.ctx, cap = 4 * devicePixelRatio;
      ctx.save(); ctx.lineWidth = 1.5 * devicePixelRatio;
      ctx.beginPath(); ctx.rect(u.bbox.left - cap, u.bbox.top, u.bbox.width + 2 * cap, u.bbox.height); ctx.clip();
      lines.forEach(({ low, high }, n) => {
        if (!u.series[n + 1].show) return;
        ctx.strokeStyle = u.series[n + 1].stroke(u, n + 1);
        u.data[0].forEach((at, i) => {
          if (low[i] == null || high[i] == null) return;
          const least = u.scales.y.distr === 3 ? u.scales.y.min / 2 : -Infinity;
          const x = u.valToPos(at, "x", true), a = u.valToPos(Math.max(low[i], least), "y", true), b = u.valToPos(high[i], "y", true);
          ctx.beginPath(); ctx.moveTo(x, a); ctx.lineTo(x, b);
          ctx.moveTo(x - cap, a); ctx.lineTo(x + cap, a); ctx.moveTo(x - cap, b); ctx.lineTo(x + cap, b); ctx.stroke();
        });
      });
      ctx.restore();
    } } };
  }

  // ---- one chart ---------------------------------------------------------------------------------------------------
  // chart: x, lines [{name, color, y, low, high, width, dash, fill, show, quiet}], xAxis, xScale, yLabel, yLog, yTo, ySize, right, unit, at(x), plugins, height, sync
  function draw(figure, chart) {
    const box = figure.querySelector(".plot");
    const old = drawn.findIndex((d) => d.figure === figure);
    if (old >= 0) { drawn[old].plot.destroy(); drawn.splice(old, 1); }
    box.replaceChildren();
    const few = chart.x.length <= 60;
    const plot = new uPlot({
      width: Math.max(240, box.clientWidth), height: chart.height || 260,
      padding: [10, chart.right || 14, 0, 0],
      cursor: { drag: { x: true, y: false, setScale: true }, focus: { prox: 1e6 }, points: { size: 7 },
        ...(chart.sync ? { sync: { key: chart.sync, setSeries: false, scales: ["x", null] } } : {}) },
      legend: { show: false },
      scales: { x: Object.assign({ time: false }, chart.xScale), y: chart.yTo ? upTo(chart.yTo) : yScale(chart.yLog, chart.lines) },
      axes: [chart.xAxis, valueAxis(chart.yLabel, chart.yLog, chart.ySize)],
      series: [{}].concat(chart.lines.map((line) => ({
        label: line.name, stroke: () => css(line.color), width: line.width || 1.6, dash: line.dash, show: line.show !== false,
        spanGaps: !chart.gaps, points: { show: chart.points === undefined ? few : chart.points, size: 5 },
        ...(line.fill ? { fill: () => css(line.color) + "1f" } : {}),
        ...(line.paths ? { paths: line.paths } : {}),
      }))),
      plugins: [tooltip(chart)].concat(chart.plugins || []),
    }, [chart.x].concat(chart.lines.map((line) => line.y)), box);
    drawn.push({ figure, plot, chart });
    figure.dataset.drawn = "yes";
    legend(figure, chart);
    dataTable(figure, chart);
  }
  // Small multiples share a legend: a name shows or hides its lines in all of them.
  const multiples = (figure) => figure.closest(".multiples");
  function legend(figure, chart) {
    const shared = multiples(figure), place = (shared || figure).querySelector(".legend");
    if (!shared) place.replaceChildren();
    const known = new Set([...place.children].map((key) => key.textContent));
    if (chart.lines.length > 1) chart.lines.forEach((line) => {
      if (line.quiet || known.has(line.name)) return;
      const key = document.createElement("button");
      key.type = "button"; key.textContent = line.name; key.title = "show or hide this line";
      key.style.setProperty("--key", "var(" + line.color + ")");
      if (line.dash) key.style.setProperty("--key-style", "dashed");
      key.setAttribute("aria-pressed", String(line.show !== false));
      key.onclick = () => {
        const show = key.getAttribute("aria-pressed") !== "true";
        key.setAttribute("aria-pressed", String(show));
        drawn.filter((d) => (shared || figure).contains(d.figure)).forEach((d) => d.chart.lines.forEach((of, n) => {
          if (of.name === line.name) { of.show = show; d.plot.setSeries(n + 1, { show }); } }));
      };
      place.append(key);
    });
    if (chart.note) { const note = document.createElement("span"); note.className = chart.unmarked ? "small soft" : "key"; note.textContent = chart.note; place.append(note); }
  }
  // Filled when it is opened: the same numbers for people who do not see the chart.
  function dataTable(figure, chart) {
    let box = figure.querySelector("details");
    // It has one from the start, whose numbers lead to their cells.
    if (box && !box.dataset.made) return;
    if (!box) {
      box = document.createElement("details"); box.className = "small"; box.dataset.made = "yes";
      const title = document.createElement("summary"); title.textContent = "Data table"; box.append(title);
      figure.append(box);
    }
    const fill = () => {
      if (!box.open) return;
      const table = document.createElement("table"), head = table.createTHead().insertRow();
      [chart.xName].concat(chart.lines.map((l) => l.name + " (" + chart.unit + ")")).forEach((text, n) => {
        const th = document.createElement("th"); th.scope = "col"; th.textContent = text; if (n) th.className = "num"; head.append(th); });
      const body = table.createTBody();
      chart.x.forEach((x, i) => {
        const row = body.insertRow(); row.insertCell().textContent = chart.at(x);
        chart.lines.forEach((line) => { const cell = row.insertCell(); cell.className = "num"; cell.textContent = line.y[i] == null ? "" : written(line, i); });
      });
      const scroll = document.createElement("div"); scroll.className = "scroll"; scroll.style.maxHeight = "320px"; scroll.append(table);
      box.querySelectorAll(".scroll").forEach((e) => e.remove()); box.append(scroll);
    };
    box.ontoggle = fill; fill();
  }

  // The look of the nth of many lines. More than ten hide each other: the rest waits for a click on its name.
  const hue = (n) => ({ color: "--c" + (n % 6 + 1), dash: [undefined, [6, 4], [2, 3]][Math.floor(n / 6) % 3], show: n < 10 });

  // Where ramps saturate, in the colours of their lines.
  function rampMarks(lines) {
    return { hooks: { draw: (u) => {
      const ctx = u.ctx, { top, height } = u.bbox;
      ctx.save(); ctx.lineWidth = 1.5 * devicePixelRatio; ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
      data.ramps.forEach((mark) => {
        const x = u.valToPos(mark.connections, "x", true), n = lines.findIndex((line) => line.name === mark.group);
        ctx.strokeStyle = css(hue(Math.max(0, n)).color); ctx.beginPath(); ctx.moveTo(x, top); ctx.lineTo(x, top + height); ctx.stroke();
      });
      ctx.restore();
    } } };
  }

  // ---- the charts --------------------------------------------------------------------------------------------------
  // A choice of the figure, or of the section for all of its figures.
  const choice = (figure, name, otherwise) => { const of = "[data-choice=" + name + "]", all = figure.closest("[data-choices]"), e = figure.querySelector(of) || (all && all.querySelector(":scope > label " + of)); return e ? (e.type === "checkbox" ? e.checked : e.value) : otherwise; };
  // Charts over time that stand below each other have axes of one width, so that one time is at one place in all of them.
  const TIME_AXIS_LEFT = 66;
  function overTime(figure, series, lines, more) {
    const x = more.x || series.time_s, first = Math.max(0, series.time_s[0] - series.point_s), last = series.time_s[series.time_s.length - 1];
    draw(figure, Object.assign({ x, lines, xAxis: timeAxis(series.point_s, last), xScale: { range: (u, a, b) => a === b || a == null ? [first, last] : (a === x[0] && b === x[x.length - 1] ? [first, last] : [a, b]) },
      xName: "time", at: (x) => "at " + clock(x, last) + (last <= 180 ? " s" : ""), plugins: [windowMark(series.window_start_s, series.window_end_s)],
      note: series.window_start_s > first + 0.001 ? "warm-up, not counted" : "", sync: "r" + figure.dataset.repeat }, more));
  }
  const hyphened = (words) => words.replace(" ", "-"), sentence = (words) => words[0].toUpperCase() + words.slice(1);
  // Colors go round where there are more types than colors.
  const color = (series, key) => "--c" + (Math.max(0, series.names.findIndex((t) => t[0] === key)) % 5 + 1);
  // Distributions {name, of, look} by percentile, or as a histogram.
  function spread(figure, kind, all) {
    const tail = kind === "tail", [xs, ys] = tail ? ["tail", "tail_ms"] : ["bin_ms", "bin_percent"], small = multiples(figure);
    const x = [...new Set(all.flatMap(({ of }) => of[xs]))].sort((a, b) => a - b);
    const lines = all.map(({ name, of, look }) => {
      const at = new Map(of[xs].map((v, i) => [v, of[ys][i]]));
      return Object.assign({ name, y: x.map((v) => at.has(v) ? at.get(v) : (tail ? undefined : 0)) }, look, tail ? {} : { paths: uPlot.paths.stepped({ align: -1 }) });
    });
    draw(figure, Object.assign({ x, lines, points: false, height: small ? 190 : 270 }, tail ? { xName: "percentile", unit: "ms", at: percentile, yLabel: small ? undefined : "response time (ms)", yLog: true,
      xScale: { distr: 3, range: (u, a, b) => [a, b > a ? b * 1.3 : a * 10] }, xAxis: axis({ label: small ? undefined : "share of transactions at or below", size: 26, splits: (u, i, min, max) => logSplits(min, max, 0).filter((v) => v >= 1), filter: (u, s) => s, values: (u, s) => s.map(percentile) }) }
      : { xName: "response time up to", unit: "%", at: (v) => "up to " + number(v) + " ms", yLabel: "share of transactions (%)", yLog: false,
        xScale: { distr: 3, range: (u, a, b) => [a, b > a ? b : a * 10] }, xAxis: axis({ label: "response time (ms)", size: 26, splits: (u, i, min, max) => logSplits(min, max, 8), filter: (u, s) => s, values: (u, s) => s.map(tick) }) }));
  }
  const charts = {
    throughput(figure) {
      const series = data.repeats[figure.dataset.repeat].series, all = choice(figure, "types", "primary") === "all";
      const shown = all ? series.names : [[series.primary, (series.names.find(([key]) => key === series.primary) || [0, sentence(data.primary)])[1]]];
      const lines = shown.map(([key, name]) => ({ name, y: series.types[key].per_minute, color: color(series, key), fill: !all, width: 1.8 }));
      overTime(figure, series, lines, { yLabel: (all ? "transaction" : data.primary) + "s per minute", unit: "/min", height: 270, ySize: TIME_AXIS_LEFT });
    },
    panel(figure) {
      const repeat = data.repeats[figure.dataset.repeat], panel = repeat.observed.panels.find((p) => p.name === figure.dataset.panel);
      const lines = panel.lines.map((line) => ({ name: line.name, y: line.values, color: "--c" + line.color, dash: line.dash === "dashed" ? [6, 4] : undefined }));
      overTime(figure, repeat.series, lines, { x: repeat.observed.time_s, yLabel: panel.axis, yTo: panel.axis_to, unit: panel.unit, gaps: true, height: 200, ySize: TIME_AXIS_LEFT });
    },
    latency(figure) {
      const series = data.repeats[figure.dataset.repeat].series, type = series.types[choice(figure, "type", series.names[0][0])];
      overTime(figure, series, [{ name: "max", y: type.max_ms, color: "--c5", width: 1, show: false }, { name: "p99", y: type.p99_ms, color: "--c4" }, { name: "p95", y: type.p95_ms, color: "--c2" },
        { name: "p50", y: type.p50_ms, color: "--c1" }], { yLabel: "response time (ms)", yLog: choice(figure, "log", true), unit: "ms", height: 270 });
    },
    distribution(figure) {
      const { series, distribution } = data.repeats[figure.dataset.repeat];
      spread(figure, choice(figure, "kind", "tail"), series.names.filter(([key]) => distribution[key]).map(([key, name]) => ({ name, of: distribution[key], look: { color: color(series, key) } })));
    },
    spread(figure) {
      const of = data.over_time[choice(figure, "at", 0)].lines.map((line, n) => ({ name: line.name, of: data.repeats[line.repeat].distribution[figure.dataset.what], look: hue(n) }));
      spread(figure, "tail", of.filter((line) => line.of));
    },
    curves(figure) {
      const of = data.curves[figure.dataset.curves], { what, unit, log } = figure.dataset, small = multiples(figure);
      const x = of.x, wide = x[0] > 0 && x[x.length - 1] / x[0] > 12, only = of.lines.length === 1, isConnections = of.x_name === "connections";
      // A cell without a result breaks its line; where a line has no cell, it goes on.
      const lines = of.lines.flatMap((g, n) => what.split("|").map((key, k) => {
        const band = g.bands[key];
        return Object.assign({ name: only ? key.split(",")[0] : g.name, y: band.mean.map((v, i) => g.cells[i] ? v : undefined), low: band.low, high: band.high, width: 2 }, hue(only ? k : n));
      }));
      const text = new Map(x.map((v, i) => [v, of.x_text[i]])), most = lines.flatMap((line) => line.high.concat(line.y)).reduce((most, v) => Math.max(most, v || 0), 0);
      const keep = (u, splits) => { let last = -1e9; return splits.map((v) => { const p = u.valToPos(v, "x"); if (p - last < 8 + 7 * text.get(v).length) return null; last = p; return v; }); };
      draw(figure, { x, lines, points: true, gaps: true, right: Math.max(14, 4 * of.x_text[x.length - 1].length), xName: of.x_name, height: small ? 170 : 290, unit, yLabel: small ? undefined : unit,
        yLog: log !== undefined, yTo: log === undefined ? (most || 1) * 1.04 : undefined, at: (v) => text.get(v) + (isConnections ? " connections" : ""), plugins: [whiskers(lines)].concat(isConnections && !small ? [rampMarks(of.lines)] : []),
        xScale: { distr: wide ? 3 : 1, range: (u, a, b) => a === b ? [a * 0.5, a * 1.5] : wide ? [a / 1.15, b * 1.15] : [a - (b - a) * 0.05, b + (b - a) * 0.05] },
        xAxis: axis({ label: small ? undefined : of.x_name + (wide ? " (logarithmic)" : ""), size: 26, splits: () => x, filter: keep, values: (u, s) => s.map((v) => v == null ? "" : text.get(v)), grid: { show: false } }) });
    },
    over_time(figure) {
      const of = data.over_time[choice(figure, "at", 0)], what = figure.dataset.what;
      const all = of.lines.map((line) => data.repeats[line.repeat].series);
      // Repeats may have been measured at different times: their points are put on one axis.
      const [x, ...ys] = uPlot.join(all.map((series) => [series.time_s, series.types[series.primary][what]]));
      const longest = all.reduce((a, b) => b.time_s[b.time_s.length - 1] > a.time_s[a.time_s.length - 1] ? b : a);
      const lines = of.lines.map((line, n) => Object.assign({ name: line.name, y: ys[n], width: 1.8 }, hue(n)));
      const nopm = what === "per_minute", first = all[0];
      // One shade cannot tell of repeats that were counted from different times on.
      const isEqual = ["window_start_s", "window_end_s"].every((end) => all.every((series) => Math.abs(series[end] - first[end]) < first.point_s / 2));
      overTime(figure, longest, lines, { x, ...(isEqual ? {} : { plugins: [], unmarked: true, note: "the windows of these repeats differ and are not marked" }), yLabel: nopm ? data.primary + "s per minute" : hyphened(data.primary) + " p95 (ms)", yLog: !nopm, unit: nopm ? "/min" : "ms", height: 270, ySize: TIME_AXIS_LEFT });
    },
  };
  // Browsers differ in whether a figure in closed details has a size.
  function redraw(figure) { if (figure.offsetParent !== null && !figure.closest("details:not([open])")) charts[figure.dataset.chart](figure); }
  const figures = [...document.querySelectorAll("figure[data-chart]")];
  figures.forEach((figure) => { figure.querySelectorAll("[data-choice]").forEach((e) => { e.onchange = () => redraw(figure); }); redraw(figure); });
  document.querySelectorAll("[data-choices]").forEach((all) => { all.querySelectorAll(":scope > label [data-choice]").forEach((e) => { e.onchange = () => {
    all.querySelectorAll(".multiples > .legend").forEach((keys) => keys.replaceChildren());
    all.querySelectorAll("figure[data-chart]").forEach(redraw);
  }; }); });
  document.querySelectorAll(".stacks").forEach((figure) => {
    figure.querySelectorAll("[data-part]").forEach((key) => { key.onclick = () => {
      const show = key.getAttribute("aria-pressed") !== "true";
      key.setAttribute("aria-pressed", String(show));
      figure.querySelectorAll("i.k" + key.dataset.part).forEach((part) => { part.style.visibility = show ? "" : "hidden"; });
    }; });
    const scale = figure.querySelector("[data-scale]");
    if (scale) scale.onchange = () => figure.classList.toggle("times", scale.value === "times");
  });
  // What a bar or a part of one says when the pointer is on it.
  const tip = document.createElement("div");
  tip.className = "tip"; tip.hidden = true; document.body.append(tip);
  addEventListener("pointerover", (event) => {
    const at = event.target instanceof Element && event.target.closest("[data-tip]");
    tip.hidden = !at;
    if (!at) return;
    tip.textContent = at.dataset.tip;
    tip.style.left = scrollX + Math.max(4, Math.min(event.clientX + 12, root.clientWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = scrollY + at.getBoundingClientRect().bottom + 6 + "px";
  });

  // ---- the page ----------------------------------------------------------------------------------------------------
  document.querySelectorAll(".tabs").forEach((tabs) => {
    const buttons = [...tabs.querySelectorAll("button")];
    buttons.forEach((button) => { button.onclick = () => buttons.forEach((b) => {
      const panel = document.getElementById(b.getAttribute("aria-controls")), on = b === button;
      b.setAttribute("aria-pressed", String(on)); panel.hidden = !on;
      if (on) panel.querySelectorAll("figure[data-chart]").forEach(redraw);
    }); });
  });
  // What scrolls can be reached by keyboard, in every browser.
  const reach = () => document.querySelectorAll(".scroll, pre").forEach((box) => {
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0; else box.removeAttribute("tabindex"); });
  document.addEventListener("toggle", ({ target }) => {
    if (target.open) target.querySelectorAll("figure[data-chart]").forEach(redraw);
    reach();
  }, true);
  // A link to a cell whose section is folded opens it, also where the address has it already.
  function unfold(id) {
    const cell = document.getElementById(id), box = cell && cell.classList.contains("folded") && cell.querySelector(":scope > details");
    if (box) { box.open = true; cell.scrollIntoView({ behavior: "instant" }); }
  }
  addEventListener("hashchange", () => unfold(location.hash.slice(1)));
  document.querySelectorAll('a[href^="#cell-"]').forEach((link) => link.addEventListener("click", () => unfold(link.hash.slice(1))));
  unfold(location.hash.slice(1));
  document.querySelectorAll("[data-open-cells]").forEach((button) => { button.onclick = () => {
    const cells = [...document.querySelectorAll(".folded > details")], open = cells.some((cell) => !cell.open);
    cells.forEach((cell) => { cell.open = open; });
    button.textContent = open ? "Close all cells" : "Open all cells, as for printing";
  }; });
  const menu = document.querySelector(".menu");
  if (menu) {
    document.addEventListener("click", (event) => { if (!menu.contains(event.target) || event.target.closest("a")) menu.open = false; });
    document.addEventListener("keydown", (event) => { if (event.key === "Escape" && menu.open) { menu.open = false; menu.querySelector("summary").focus(); } });
    menu.addEventListener("toggle", () => { if (menu.open) menu.querySelector("input").focus(); });
  }
  document.querySelectorAll("input[type=search]").forEach((input) => {
    const rows = [...document.querySelectorAll(["tbody tr", "li"].map((row) => "#" + input.dataset.rows + " " + row))];
    input.oninput = () => { const wanted = input.value.trim().toLowerCase(); rows.forEach((row) => { row.hidden = !row.textContent.toLowerCase().includes(wanted); }); };
  });
  let pending = 0;
  addEventListener("resize", () => { clearTimeout(pending); pending = setTimeout(fit, 80); });
  function fit() { drawn.forEach((d) => { const box = d.figure.querySelector(".plot"); if (box.clientWidth) d.plot.setSize({ width: Math.max(240, box.clientWidth), height: d.chart.height || 260 }); }); reach(); }
  const repaint = () => drawn.forEach((d) => d.plot.redraw(false, true));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  // Paper is light, whatever the screen is.
  addEventListener("beforeprint", () => { root.classList.add("paper"); repaint(); });
  addEventListener("afterprint", () => { root.classList.remove("paper"); repaint(); });
  reach();
  root.dataset.ready = String(drawn.length);
})();
