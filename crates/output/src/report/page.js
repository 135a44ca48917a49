// Replaces the static pictures of the page with charts that can be zoomed, share one cursor and can select a segment.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;

  // Values have three digits and a unit, as everywhere in redyno.
  const three = (v) => (Math.abs(v) < 9.995 ? v.toFixed(2) : Math.abs(v) < 99.95 ? v.toFixed(1) : v.toFixed(0));
  const latency = (us) => {
    if (us < 0.9995) return Math.round(us * 1000) + " ns";
    if (us < 999.5) return three(us) + " µs";
    return us < 999500 ? three(us / 1e3) + " ms" : three(us / 1e6) + " s";
  };
  const count = (n) => {
    const a = Math.abs(n);
    if (a < 999.5) return Number.isInteger(n) ? String(n) : three(n);
    if (a < 999500) return three(n / 1e3) + " k";
    return a < 999.5e6 ? three(n / 1e6) + " M" : three(n / 1e9) + " G";
  };
  const two = (n) => String(Math.floor(n)).padStart(2, "0");
  const clock = (s) => (s >= 3600 ? two(s / 3600) + ":" : "") + two((s / 60) % 60) + ":" + two(s % 60);
  const nines = (v) => (100 * (1 - 10 ** -v)).toFixed(Math.max(0, Math.round(v) - 2)) + " %";
  const written = {
    time: clock, nines, knob: count, knob_log: count, rate: count, latency,
    cores: (v) => (v === 0 || v >= 0.0995 ? (v * 100).toFixed(0) : (v * 100).toFixed(1)) + " %",
  };
  const dashes = {
    p99: [8, 3], p999: [4, 3], max: [2, 3], own: [8, 3], faint: [6, 4], s4: [8, 3], s5: [8, 3], s6: [8, 3], s7: [8, 3],
  };

  let inks = {};
  const ink = (name) => (inks[name] ??= getComputedStyle(root).getPropertyValue("--" + name).trim());

  const shown = []; // { chart, session, place, said, plot }
  const picked = new Map(); // session id -> number of a segment

  const onTime = (session) => shown.filter((one) => one.session === session && one.chart.x === "time");

  function pick(session, number) {
    const is = picked.get(session.id) === number ? null : number;
    picked.set(session.id, is);
    for (const row of document.querySelectorAll("tr[data-segment]")) {
      const [id, of] = row.dataset.segment.split("-");
      if (id === session.id) {
        row.classList.toggle("picked", Number(of) === is);
        row.setAttribute("aria-pressed", String(Number(of) === is));
      }
    }
    for (const one of shown.filter((one) => one.session === session)) {
      const at = one.chart.lines.findIndex((line) => line.segment !== null && line.segment === is);
      if (one.chart.x === "time") one.plot.redraw(false);
      else if (at >= 0) one.plot.setSeries(at + 1, { focus: true });
      else one.plot.setSeries(null, { focus: false });
    }
  }

  function clipped(plot, draw) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    draw(ctx, bbox, (v) => plot.valToPos(v, "x", true), (v) => plot.valToPos(v, "y", true));
    ctx.restore();
  }

  function ground(plot, chart, session) {
    clipped(plot, (ctx, bbox, x, y) => {
      session.segments.forEach(([number, from, to], n) => {
        const name = picked.get(session.id) === number ? "picked" : n % 2 === 1 ? "band" : null;
        if (!name) return;
        ctx.fillStyle = ink(name);
        ctx.fillRect(x(from), bbox.top, x(to) - x(from), bbox.height);
      });
      if (!chart.heat) return;
      const { columns, borders, most } = chart.heat;
      const tone = (n) => Math.min(6, Math.max(1, Math.ceil((Math.log1p(n) / Math.log1p(most)) * 6)));
      for (const { from_s, to_s, first, counts } of columns) {
        const [left, right] = [Math.floor(x(from_s)), Math.ceil(x(to_s))];
        counts.forEach((n, at) => {
          if (n === 0) return;
          const [low, high] = [y(borders[first + at]), y(borders[first + at + 1])];
          ctx.fillStyle = ink("h" + tone(n));
          ctx.fillRect(left, high, Math.max(1, right - left), low - high);
        });
      }
    });
  }

  function moments(plot, session) {
    const ratio = devicePixelRatio || 1;
    const letters = (ctx) => {
      ctx.font = 11 * ratio + "px system-ui, sans-serif";
      ctx.textBaseline = "bottom";
      ctx.textAlign = "left";
    };
    clipped(plot, (ctx, bbox, x) => {
      const bottom = bbox.top + bbox.height;
      letters(ctx);
      // A mark has no text if it would overlap the previous text. The table of events has all texts.
      let free = 0;
      for (const [t, isMark, words] of session.moments) {
        const at = x(t);
        ctx.beginPath();
        if (isMark) {
          ctx.strokeStyle = ink("mark");
          ctx.lineWidth = 1.5 * ratio;
          ctx.setLineDash([3 * ratio, 3 * ratio]);
          ctx.moveTo(at, bbox.top);
          ctx.lineTo(at, bottom);
          ctx.stroke();
          if (at < free) continue;
          const short = words.length > 24 ? words.slice(0, 24) + "…" : words;
          ctx.fillStyle = ink("mark");
          ctx.fillText(short, at + 4 * ratio, bbox.top + 14 * ratio);
          free = at + ctx.measureText(short).width + 8 * ratio;
        } else {
          ctx.fillStyle = ink("event");
          ctx.moveTo(at - 4 * ratio, bottom);
          ctx.lineTo(at + 4 * ratio, bottom);
          ctx.lineTo(at, bottom - 8 * ratio);
          ctx.fill();
        }
      }
    });
    const { ctx, bbox } = plot;
    ctx.save();
    letters(ctx);
    ctx.fillStyle = ink("faint");
    for (const [number, from, to] of session.segments) {
      const [left, right] = [from, to].map((t) => Math.min(bbox.left + bbox.width, Math.max(bbox.left, plot.valToPos(t, "x", true))));
      if (right - left > 22 * ratio) ctx.fillText(String(number), left + 3 * ratio, bbox.top - 2 * ratio);
    }
    ctx.restore();
  }

  // Returns the number of requests in the cell of a heat map under the mouse pointer.
  function cell({ columns, borders }, plot) {
    const { left, top } = plot.cursor;
    const [t, us] = [plot.posToVal(left, "x"), plot.posToVal(top, "y")];
    const column = columns.find(({ from_s, to_s }) => from_s <= t && t < to_s);
    const at = borders.findIndex((border) => border > us) - 1;
    const n = column?.counts[at - column.first];
    return n ? [count(n) + (n === 1 ? " request" : " requests") + " of " + latency(borders[at]) + " to " + latency(borders[at + 1])] : [];
  }

  function say(one, plot) {
    const { left } = plot.cursor;
    if (left === undefined || left < 0) return void (one.said.textContent = "");
    const near = one.session.moments.filter(([t]) => Math.abs(plot.valToPos(t, "x") - left) < 7);
    const words = near.slice(0, 3).map(([t, isMark, text]) => clock(t) + " " + (isMark ? "mark: " : "") + text);
    if (one.chart.heat) words.unshift(...cell(one.chart.heat, plot));
    one.said.textContent = words.join(" · ") + (near.length > 3 ? " · and " + (near.length - 3) + " more" : "");
  }

  function ends(chart, session) {
    const [low, high] = [chart.xs[0], chart.xs[chart.xs.length - 1]];
    if (chart.x === "time") return [Math.min(low, session.ends_s[0]), Math.max(high, session.ends_s[1])];
    if (chart.x === "nines") return [0, high];
    if (chart.x === "knob_log") return [low * 0.9, high * 1.1];
    const beside = Math.max((high - low) * 0.03, 0.5);
    return [low - beside, high + beside];
  }

  function heights(chart) {
    const isLog = chart.y === "latency";
    const floor = chart.heat ? Math.min(...chart.heat.columns.map((column) => chart.heat.borders[column.first])) : null;
    return (plot, low, high) => {
      if (chart.heat) return [floor * 0.85, chart.heat.borders[chart.heat.borders.length - 1] * 1.15];
      if (low === null || high === null) return isLog ? [1, 1000] : [0, 1];
      return isLog ? [low * 0.85, high * 1.15] : [0, high * 1.08 || 1];
    };
  }

  // Returns the values 1, 2 and 5 times each power of ten. On a long axis, returns fewer values.
  function factors(low, high) {
    const powers = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) powers.push(power);
    const within = (digits, each) => powers.filter((_, n) => n % each === 0)
      .flatMap((power) => digits.map((digit) => digit * 10 ** power)).filter((v) => v >= low && v <= high);
    const tries = [within([1, 2, 5], 1), within([1, 3], 1), within([1], 1)];
    return tries.find((splits) => splits.length <= 9) ?? within([1], 3);
  }

  // A value between two gaps has no line, so it needs a dot.
  const alone = (values) => values.flatMap((v, n) => (v !== null && (values[n - 1] ?? null) === null && (values[n + 1] ?? null) === null ? [n] : []));

  function axis(quantity, side) {
    const own = { stroke: () => ink("faint"), grid: { stroke: () => ink("rule"), width: 1 }, ticks: { show: false } };
    const font = "12px system-ui, sans-serif";
    const values = (plot, all) => all.map((v) => (v === null ? "" : written[quantity](v)));
    const more = {
      time: { incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400], space: 60 },
      // A narrow page has room for every second label only.
      nines: {
        splits: (plot) => {
          const most = Math.floor(plot.scales.x.max), step = plot.width < 560 && most > 3 ? 2 : 1;
          return Array.from({ length: Math.floor(most / step) + 1 }, (_, n) => n * step);
        },
      },
      latency: { splits: (plot, at, low, high) => factors(low, high) },
      knob_log: { splits: (plot, at, low, high) => factors(low, high) },
    };
    return { ...own, font, values, filter: (plot, splits) => splits, size: side === "y" ? 66 : 32, ...(more[quantity] ?? {}) };
  }

  // All charts over time show the same period. A chart that is already very close to the period is not changed.
  function link(session, plot, key) {
    if (key !== "x") return;
    const { min, max } = plot.scales.x;
    const isNear = (scale) => Math.max(Math.abs(scale.min - min), Math.abs(scale.max - max)) < (max - min) / 200;
    for (const { plot: other } of onTime(session)) {
      if (other && other !== plot && !isNear(other.scales.x)) other.setScale("x", { min, max });
    }
  }

  // Returns the zoomed period, or the whole session.
  function stretch(chart, session, low, high) {
    const { xs } = chart;
    return low === null || (low <= xs[0] && high >= xs[xs.length - 1]) ? ends(chart, session) : [low, high];
  }

  function options(one) {
    const { chart, session, place } = one;
    const isTime = chart.x === "time";
    const width = place.clientWidth;
    const series = chart.lines.map((line) => ({
      label: line.name,
      stroke: () => ink(line.ink),
      width: ["rate", "p50"].includes(line.ink) ? 2 : 1.5,
      dash: dashes[line.ink],
      points: { show: true, size: line.is_dotted ? 7 : 4, fill: () => ink(line.ink), filter: line.is_dotted ? null : () => alone(line.values) },
      value: (plot, v) => (v === null || v === undefined ? "–" : written[chart.y](v)),
    }));
    const name = { label: isTime ? "at" : chart.x_name, value: (plot, v) => (v === null || v === undefined ? "–" : written[chart.x](v)) };
    return {
      width,
      height: width < 560 ? 220 : 280,
      padding: [16, 22, 0, 0],
      focus: { alpha: 0.2 },
      cursor: { y: false, drag: { x: true, y: false }, ...(isTime ? { sync: { key: session.id, scales: ["x", null] } } : {}) },
      scales: {
        x: { time: false, distr: chart.x === "knob_log" ? 3 : 1, range: (plot, low, high) => stretch(chart, session, low, high) },
        y: { distr: chart.y === "latency" ? 3 : 1, range: heights(chart) },
      },
      axes: [axis(chart.x, "x"), axis(chart.y, "y")],
      series: [name, ...series],
      hooks: isTime && {
        drawClear: [(plot) => ground(plot, chart, session)],
        draw: [(plot) => moments(plot, session)],
        setScale: [(plot, key) => link(session, plot, key)],
        setCursor: [(plot) => say(one, plot)],
        ready: [(plot) => plot.over.addEventListener("click", () => {
          const t = plot.posToVal(plot.cursor.left, "x");
          const segment = session.segments.find(([, from, to]) => from <= t && t < to);
          if (segment) pick(session, segment[0]);
        })],
      } || {},
    };
  }

  function draw(one) {
    if (one.plot) one.plot.destroy();
    one.plot = new uPlot(options(one), [one.chart.xs, ...one.chart.lines.map((line) => line.values)], one.place);
  }

  function place(chart, session) {
    const figure = document.getElementById(chart.id);
    const one = { chart, session, place: document.createElement("div"), said: document.createElement("p") };
    one.place.className = "live";
    one.said.className = "said";
    figure.querySelector(".static").before(one.place, ...(chart.x === "time" ? [one.said] : []));
    shown.push(one);
  }

  for (const session of data.sessions) session.charts.forEach((chart) => place(chart, session));
  if (data.comparison) place(data.comparison, { id: "comparison", segments: [], moments: [], ends_s: [0, 0] });
  root.classList.add("scripted");
  try {
    shown.forEach(draw);
  } catch (error) {
    // The static pictures show the same data.
    root.classList.remove("scripted");
    throw error;
  }

  for (const row of document.querySelectorAll("tr[data-segment]")) {
    const [id, number] = row.dataset.segment.split("-");
    const session = data.sessions.find((session) => session.id === id);
    if (!session) continue;
    row.tabIndex = 0;
    row.setAttribute("role", "button");
    row.addEventListener("click", () => pick(session, Number(number)));
    row.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      pick(session, Number(number));
    });
  }

  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    shown.forEach((one) => one.plot.setSize({ width: one.place.clientWidth, height: one.plot.height }));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    inks = {};
    shown.forEach(draw);
  });
})();
