"use strict";
// Makes the picture of a failure move: one span of time for the lanes, drawn as SVG, and for the counters (uPlot).
// Reads what the page holds, and fetches nothing. Texts of logs are only ever set as text.
(() => {
  const GUTTER = 150, RIGHT = 12, SVG = "http://www.w3.org/2000/svg", LEAST = 0.002;
  const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];
  const WAITING = new Set(["initiator", "notified", "waiting", "ahead"]);
  const hint = document.createElement("div");
  hint.className = "hint";
  hint.hidden = true;
  document.body.append(hint);

  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  const tag = (name, attributes, text) => {
    const one = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
    if (text !== undefined) one.textContent = text;
    return one;
  };
  const html = (name, cls, text) => {
    const one = document.createElement(name);
    if (cls) one.className = cls;
    if (text !== undefined) one.textContent = text;
    return one;
  };
  const button = (text, label, act) => {
    const one = html("button", "", text);
    one.type = "button";
    one.setAttribute("aria-label", label);
    one.addEventListener("click", act);
    return one;
  };
  const utc = (seconds, digits) => new Date(seconds * 1000).toISOString().slice(11, digits ? 20 + digits : 19);
  const showHint = (text, event) => {
    hint.textContent = text;
    hint.hidden = false;
    const box = hint.getBoundingClientRect();
    hint.style.left = clamp(event.clientX + 14, 4, innerWidth - box.width - 4) + "px";
    hint.style.top = (event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 18) + "px";
  };
  const hideHint = () => { hint.hidden = true; };

  class Picture {
    constructor(section) {
      this.data = JSON.parse(section.querySelector("script.data").textContent);
      this.section = section;
      this.box = section.querySelector(".plots");
      this.svg = this.box.querySelector("svg.lanes");
      this.prefix = this.svg.querySelector("clipPath").id.slice(0, -1);
      this.full = [0, this.data.length];
      this.view = this.full.slice();
      this.plots = [];
      this.marks = [...this.svg.querySelectorAll("use.mark")];
      this.at = -1;
      this.height = this.svg.viewBox.baseVal.height;
      this.bottom = Number(this.svg.dataset.bottom);
      this.box.classList.add("live");
      this.titles();
      this.cross = tag("path", { class: "cross", d: "" });
      this.select = tag("rect", { class: "select", y: 0, height: this.bottom, width: 0 });
      this.svg.append(this.select, this.cross);
      this.said = html("p", "picked");
      this.said.setAttribute("role", "status");
      this.box.append(this.said);
      this.tools();
      this.counters();
      this.pointer();
      this.keys();
      this.layout();
      this.ranks();
      new ResizeObserver(() => { if (!this.printing && this.box.clientWidth !== this.last) this.layout(); }).observe(this.box);
    }

    // What SVG shows when the pointer rests is shown at once, and read aloud by its label.
    titles() {
      for (const title of this.svg.querySelectorAll("g[clip-path] title, g.lane title")) {
        const one = title.parentNode;
        one.dataset.title = title.textContent;
        one.setAttribute("aria-label", title.textContent);
        title.remove();
      }
    }

    x(moment) {
      const [low, high] = this.view;
      return GUTTER + (moment - low) / (high - low) * (this.width - GUTTER - RIGHT);
    }

    moment(x) {
      const [low, high] = this.view;
      return low + (x - GUTTER) / (this.width - GUTTER - RIGHT) * (high - low);
    }

    layout(width) {
      this.last = this.box.clientWidth;
      this.width = width || Math.max(this.box.clientWidth, 320);
      for (const svg of [this.svg, ...this.box.querySelectorAll(".multi > svg")]) {
        svg.setAttribute("viewBox", `0 0 ${this.width} ${svg.viewBox.baseVal.height}`);
        for (const one of svg.querySelectorAll("[data-full], .clip")) one.setAttribute("width", this.width - GUTTER - RIGHT);
      }
      for (const plot of this.plots) plot.setSize({ width: this.width - GUTTER - RIGHT, height: 50 });
      this.draw();
    }

    draw() {
      const px = (moment) => clamp(this.x(moment), -5000, this.width + 5000);
      for (const one of this.svg.querySelectorAll("rect[data-a]")) {
        const a = px(Number(one.dataset.a)), b = px(Number(one.dataset.b));
        one.setAttribute("x", a.toFixed(1));
        one.setAttribute("width", Math.max(b - a, 2).toFixed(1));
      }
      for (const one of this.svg.querySelectorAll("[data-t]")) this.place(one, px(Number(one.dataset.t)));
      for (const one of this.svg.querySelectorAll("path.arrow[data-y]")) {
        const a = px(Number(one.dataset.a)).toFixed(1), b = px(Number(one.dataset.b)).toFixed(1);
        const [y0, y1] = one.dataset.y.split(" ").map(Number), bend = (y1 - y0) / 2;
        one.setAttribute("d", `M${a} ${y0}C${a} ${y0 + bend} ${b} ${y1 - bend} ${b} ${y1}`);
      }
      this.axis();
      this.now.textContent = this.spanWords();
      for (const plot of this.plots) plot.setScale("x", { min: this.view[0], max: this.view[1] });
      this.section.dataset.view = this.view.map((one) => one.toFixed(3)).join(" ");
    }

    place(one, x) {
      if (one.localName === "path") one.setAttribute("transform", `translate(${x.toFixed(1)})`);
      else if (one.dataset.dx) {
        const isLate = x > this.width * 0.85;
        one.setAttribute("text-anchor", isLate ? "end" : "start");
        one.setAttribute("x", (x + (isLate ? -4 : 4)).toFixed(1));
      } else one.setAttribute("x", x.toFixed(1));
    }

    axis() {
      const group = this.svg.querySelector("g.axis"), [low, high] = this.view;
      const most = Math.max(Math.floor((this.width - GUTTER) / 105), 2);
      const step = STEPS.find((one) => (high - low) / one <= most) || Math.ceil((high - low) / most / 3600) * 3600;
      const day = this.data.start - this.data.start % 86400;
      const first = Math.ceil((this.data.start + low - day) / step) * step - (this.data.start - day);
      group.replaceChildren(tag("path", { d: `M${GUTTER} ${this.bottom}H${this.width - RIGHT}` }));
      for (let moment = first; moment <= high; moment += step) {
        const x = this.x(moment).toFixed(1);
        group.append(tag("path", { d: `M${x} ${this.bottom}v5` }));
        group.append(tag("text", { x: Math.min(x, this.width - (step < 1 ? 38 : 27)), y: this.bottom + 17 }, utc(this.data.start + moment + 1e-6, step < 1 ? 3 : 0)));
      }
    }

    spanWords() {
      const [low, high] = this.view, length = high - low;
      const words = length >= 120 ? `${(length / 60).toFixed(1)} min` : length >= 1 ? `${length.toFixed(1)} s` : `${(length * 1000).toFixed(0)} ms`;
      return `${utc(this.data.start + low, length < 10 ? 3 : 0)} to ${utc(this.data.start + high, length < 10 ? 3 : 0)} (${words})`;
    }

    show(low, high) {
      const length = clamp(high - low, LEAST, this.full[1]);
      const begin = clamp(low, 0, this.full[1] - length);
      this.view = [begin, begin + length];
      this.draw();
    }

    zoom(factor, around) {
      const [low, high] = this.view, middle = around === undefined ? (low + high) / 2 : around;
      const length = clamp((high - low) * factor, LEAST, this.full[1]);
      const share = (middle - low) / (high - low);
      this.show(middle - length * share, middle + length * (1 - share));
    }

    move(share) {
      const length = this.view[1] - this.view[0];
      this.show(this.view[0] + length * share, this.view[1] + length * share);
    }

    tools() {
      const tools = this.box.querySelector(".tools"), { window: span, moments } = this.data;
      const first = moments["first error"] ?? moments.hang ?? moments.ended;
      tools.append(button("All", "Show all of the time", () => this.show(...this.full)));
      if (span) {
        const margin = Math.max((span[1] - span[0]) * 0.05, 0.5);
        tools.append(button("The failure", "Show the window of the failure", () => this.show(span[0] - margin, span[1] + margin)));
      }
      if (first !== undefined) {
        tools.append(button("First error ± 2 s", "Show the moment of the first error", () => this.show(first - 2, first + 2)));
      }
      tools.append(button("−", "Zoom out", () => this.zoom(2)), button("+", "Zoom in", () => this.zoom(0.5)));
      tools.append(button("◀", "Earlier", () => this.move(-0.4)), button("▶", "Later", () => this.move(0.4)));
      this.now = html("span", "now");
      tools.append(this.now);
    }

    // A plot of uPlot lies over the drawn lines of each counter, with the same left edge as the lanes.
    counters() {
      const css = getComputedStyle(document.documentElement);
      const dashes = [[], [6, 2], [2, 2], [8, 2, 2, 2]];
      for (const figure of this.box.querySelectorAll("figure.multi")) {
        const { series } = this.data.plots[Number(figure.dataset.plot)];
        const edges = [...new Set(series.flatMap((one) => one.points.flatMap(([a, b]) => [a, b])))].sort((a, b) => a - b);
        const columns = series.map((one) => {
          const values = edges.map(() => null);
          for (const [a, b, rate] of one.points) edges.forEach((edge, i) => { if (edge >= a && edge < b) values[i] = rate; });
          one.points.forEach(([, b, rate]) => {
            const i = edges.indexOf(b);
            if (values[i] === null) values[i] = rate;
          });
          return values;
        });
        const host = html("div", "over");
        figure.append(host);
        const plot = new uPlot({
          width: 400, height: 50, padding: [2, 0, 2, 0], legend: { show: false },
          cursor: { y: false, points: { size: 5 }, drag: { x: true, y: false, setScale: false }, bind: { dblclick: () => () => this.show(...this.full) } },
          scales: { x: { time: false, range: () => this.view.slice() }, y: { range: (_, low, high) => [0, (high || 1) * 1.08] } },
          axes: [{ show: false }, { show: false }],
          series: [{}, ...series.map((one, i) => ({
            label: one.node, width: 1.6, dash: dashes[i], stroke: () => css.getPropertyValue(`--s${i}`), points: { show: false },
            paths: uPlot.paths.stepped({ align: 1 }),
          }))],
          hooks: {
            drawClear: [(u) => this.known(u, series)],
            setScale: [(u, key) => { if (key === "x") figure.dataset.view = `${u.scales.x.min.toFixed(3)} ${u.scales.x.max.toFixed(3)}`; }],
            setCursor: [(u) => this.follow(u, series)],
            setSelect: [(u) => {
              if (u.select.width > 3) this.show(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
              u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            }],
          },
        }, [edges, ...columns], host);
        plot.root.style.left = GUTTER + "px";
        plot.root.style.top = "6px";
        this.plots.push(plot);
        plot.over.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
        plot.over.addEventListener("mouseleave", () => { hideHint(); this.point(null); });
      }
    }

    // Where some node has a reading the ground is plain; elsewhere the hatching of the unknown shows through.
    known(u, series) {
      const { ctx, bbox } = u;
      ctx.save();
      ctx.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--known");
      ctx.beginPath();
      ctx.rect(bbox.left, 0, bbox.width, ctx.canvas.height);
      ctx.clip();
      for (const one of series) {
        for (const [a, b] of one.points) {
          const left = u.valToPos(a, "x", true), right = u.valToPos(b, "x", true);
          ctx.fillRect(left, 0, right - left, ctx.canvas.height);
        }
      }
      ctx.restore();
    }

    follow(u, series) {
      if (this.pointing || u.cursor.left < 0 || u.cursor.event === undefined || u.cursor.event === null) return;
      const moment = u.posToVal(u.cursor.left, "x");
      this.point(moment, u);
      const rates = series.map((one) => {
        const found = one.points.find(([a, b]) => moment >= a && moment < b);
        return `${one.node}: ${found ? `${found[2]}/s` : "no reading"}`;
      });
      showHint(`${utc(this.data.start + moment, 3)}\n${rates.join("\n")}`, u.cursor.event);
    }

    // The cross-hair of all plots.
    point(moment, from) {
      if (moment === null) this.cross.setAttribute("d", "");
      else {
        const x = this.x(moment);
        this.cross.setAttribute("d", x >= GUTTER && x <= this.width - RIGHT ? `M${x.toFixed(1)} 0V${this.bottom}` : "");
      }
      this.section.dataset.cross = moment === null ? "" : moment.toFixed(3);
      this.pointing = true;
      for (const plot of this.plots) {
        if (plot !== from) plot.setCursor(moment === null ? { left: -10, top: -10 } : { left: plot.valToPos(moment, "x"), top: 10 }, false);
      }
      this.pointing = false;
    }

    spot(event) {
      const box = this.svg.getBoundingClientRect(), scale = this.width / box.width;
      return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    }

    wheel(event) {
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
      event.preventDefault();
      if (event.shiftKey) this.move(Math.sign(event.deltaY || event.deltaX) * 0.1);
      else this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.moment(this.spot(event)[0]));
    }

    pointer() {
      let from = null, view = null;
      this.svg.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
      this.svg.addEventListener("dblclick", () => this.show(...this.full));
      this.svg.addEventListener("pointerdown", (event) => {
        const [x] = this.spot(event);
        if (x < GUTTER || event.button) return;
        from = x;
        view = event.pointerType === "touch" || event.shiftKey ? this.view.slice() : null;
        if (!view) this.svg.setPointerCapture(event.pointerId);
      });
      this.svg.addEventListener("pointermove", (event) => {
        const [x, y] = this.spot(event);
        if (from !== null && view) {
          const moved = (from - x) / (this.width - GUTTER - RIGHT) * (view[1] - view[0]);
          this.show(view[0] + moved, view[1] + moved);
        } else if (from !== null) {
          this.select.setAttribute("x", Math.max(Math.min(from, x), GUTTER));
          this.select.setAttribute("width", Math.abs(x - from));
        }
        this.point(x >= GUTTER ? this.moment(x) : null);
        this.hover(x, y, event);
      });
      const end = (event) => {
        const [x] = this.spot(event);
        if (from !== null && !view && Math.abs(x - from) > 4 && event.type === "pointerup") {
          this.show(this.moment(Math.max(Math.min(from, x), GUTTER)), this.moment(Math.max(from, x)));
        } else if (from !== null && event.type === "pointerup") this.click(...this.spot(event));
        from = view = null;
        this.select.setAttribute("width", 0);
      };
      this.svg.addEventListener("pointerup", end);
      this.svg.addEventListener("pointercancel", end);
      this.svg.addEventListener("pointerleave", () => { hideHint(); this.point(null); });
    }

    // The event below the pointer, else the bar, else the name of the lane.
    under(x, y) {
      let best = null, least = 11;
      if (x >= GUTTER - 8) {
        for (const mark of this.svg.querySelectorAll("use.mark")) {
          const far = Math.hypot(mark.x.baseVal.value - x, mark.y.baseVal.value - y);
          if (far < least) [best, least] = [mark, far];
        }
        if (best) return best;
        for (const bar of this.svg.querySelectorAll("rect.bar, rect.blur")) {
          const box = [bar.x.baseVal.value, bar.y.baseVal.value, bar.width.baseVal.value, bar.height.baseVal.value];
          if (bar.dataset.title && x >= box[0] && x <= box[0] + box[2] && y >= box[1] && y <= box[1] + box[3]) best = bar;
        }
        if (best) return best;
      }
      return [...this.svg.querySelectorAll("g.lane")].find((lane) => y >= Number(lane.dataset.y) && y < Number(lane.dataset.y) + 28) || null;
    }

    hover(x, y, event) {
      const found = this.under(x, y), words = [];
      if (x >= GUTTER) words.push(utc(this.data.start + this.moment(x), this.view[1] - this.view[0] < 60 ? 3 : 0));
      if (found) words.push(found.matches("g.lane") && x >= GUTTER ? found.dataset.lane === "job" ? found.dataset.title : `${found.dataset.title}\nunknown: no line of this time` : found.dataset.title);
      if (words.length) showHint(words.join("\n"), event);
      else hideHint();
    }

    click(x, y) {
      const found = this.under(x, y);
      if (found && found.matches("use.mark")) this.choose(found);
    }

    choose(mark) {
      for (const one of this.svg.querySelectorAll(".mark.on")) one.classList.remove("on");
      mark.classList.add("on");
      this.at = this.marks.indexOf(mark);
      this.said.replaceChildren(document.createTextNode(mark.dataset.title.split("\n")[0] + " "));
      const { place } = mark.dataset;
      if (!place) return;
      const target = [...this.section.parentNode.querySelectorAll("summary code.place, a.to code.place")].find((one) => one.textContent === place);
      const code = html(target ? "a" : "code", "place", place);
      if (target) {
        code.href = "#";
        code.addEventListener("click", (event) => {
          event.preventDefault();
          open(target.closest("summary, a"));
        });
      }
      this.said.append(code, copyButton(place, this.section));
    }

    step(by) {
      const inside = this.marks.filter((mark) => Number(mark.dataset.t) >= 0).sort((a, b) => a.dataset.t - b.dataset.t);
      if (!inside.length) return;
      const now = inside.indexOf(this.marks[this.at]);
      const next = inside[clamp(now < 0 && by < 0 ? inside.length - 1 : now + by, 0, inside.length - 1)];
      const t = Number(next.dataset.t), half = (this.view[1] - this.view[0]) / 2;
      if (t < this.view[0] || t > this.view[1]) this.show(t - half, t + half);
      this.choose(next);
      this.point(t);
    }

    keys() {
      this.box.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("button, a, summary")) return;
        const acts = {
          ArrowLeft: () => this.move(-0.15), ArrowRight: () => this.move(0.15), "+": () => this.zoom(0.6), "=": () => this.zoom(0.6),
          "-": () => this.zoom(1 / 0.6), 0: () => this.show(...this.full), Home: () => this.show(...this.full), n: () => this.step(1), p: () => this.step(-1),
        };
        if (acts[event.key]) {
          event.preventDefault();
          acts[event.key]();
        }
      });
    }

    // The grid: a rank is shown by pointer or key, and gets a lane of its own.
    ranks() {
      const box = this.section.querySelector(".ranks");
      if (!box) return;
      const grid = box.querySelector("svg.grid"), pick = grid.querySelector(".pick"), said = box.querySelector(".picked");
      const { ranks } = this.data, wide = Number(box.dataset.columns), step = 11;
      let at = -1;
      const words = (i) => {
        const name = (kind) => ranks.names[kind][ranks[kind][i]];
        const parts = [`rank ${ranks.rank[i]}`, name("role"), name("host") && `host ${name("host")}`, name("doing") !== "unknown" && name("doing")];
        if (ranks.enqueued[i] !== null) parts.push(`enqueued ${ranks.enqueued[i]}, completed ${ranks.completed[i]}`);
        if (ranks.seen[i] !== null) parts.push(`last seen ${utc(this.data.start + ranks.seen[i], 3)}`);
        return parts.filter(Boolean).join(", ");
      };
      const cell = (event) => {
        const area = grid.getBoundingClientRect(), size = grid.viewBox.baseVal;
        const column = Math.floor((event.clientX - area.left) / area.width * size.width / step);
        const row = Math.floor((event.clientY - area.top) / area.height * size.height / step);
        const i = row * wide + column;
        return column >= 0 && column < wide && i >= 0 && i < ranks.rank.length ? i : -1;
      };
      const choose = (i) => {
        at = i;
        pick.setAttribute("x", i % wide * step);
        pick.setAttribute("y", Math.floor(i / wide) * step);
        pick.classList.add("on");
        said.textContent = words(i);
        this.lane(i, words(i));
      };
      grid.addEventListener("mousemove", (event) => {
        const i = cell(event);
        if (i >= 0) showHint(words(i), event);
        else hideHint();
      });
      grid.addEventListener("mouseleave", hideHint);
      grid.addEventListener("click", (event) => {
        const i = cell(event);
        if (i >= 0) choose(i);
      });
      grid.addEventListener("keydown", (event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -wide, ArrowDown: wide }[event.key];
        if (!by) return;
        event.preventDefault();
        const next = at < 0 ? 0 : at + by;
        if (next >= 0 && next < ranks.rank.length) choose(next);
      });
    }

    lane(i, words) {
      const { ranks, events, moments } = this.data, rank = ranks.rank[i];
      let lane = this.svg.querySelector("g.one");
      if (!lane) {
        const axis = this.svg.querySelector("g.axis"), clip = this.svg.querySelector("g[clip-path]").getAttribute("clip-path");
        this.oneY = this.bottom + 2;
        this.height += 30;
        this.bottom += 30;
        this.svg.viewBox.baseVal.height = this.height;
        const note = axis.nextElementSibling;
        note.setAttribute("y", this.bottom + 17);
        lane = tag("g", { class: "one" });
        const ground = tag("rect", { class: "unknown", "data-full": 1, x: GUTTER, y: this.oneY + 5, height: 18, fill: `url(#${this.prefix}u)` });
        lane.append(tag("text", { class: "label", x: 4, y: this.oneY + 13 }), tag("text", { class: "note", x: 4, y: this.oneY + 24 }), ground, tag("g", { "clip-path": clip, class: "row" }));
        axis.before(lane);
        this.select.setAttribute("height", this.bottom);
        this.svg.querySelector(".clip").setAttribute("height", this.height);
      }
      const [label, note, , row] = lane.children, y = this.oneY, role = ranks.names.role[ranks.role[i]];
      label.textContent = `rank ${rank}`;
      note.textContent = role + ", chosen";
      row.replaceChildren();
      const bar = (a, b, kind, title) => {
        const one = tag("rect", { class: `bar ${kind}`, "data-a": a, "data-b": b, y: y + 5, height: 18 });
        one.dataset.title = title;
        row.append(one);
      };
      // As on the lanes of roles: a rank without a line has no bar, and only some roles wait.
      const seen = ranks.seen[i], since = Math.min(ranks.since[i] ?? seen, seen), prefix = this.prefix;
      const later = WAITING.has(role) ? "wait" : role === "culprit" ? "held" : "";
      const hang = moments.hang === undefined || !later ? seen : clamp(moments.hang, since, seen);
      if (seen !== null) bar(since, hang, "run", `rank ${rank}: lines of output`);
      if (seen !== null && hang < seen) {
        bar(hang, seen, later, words);
        row.lastChild.setAttribute("fill", `url(#${prefix}${later[0]})`);
      }
      for (const [who, t, shape, text] of events) {
        if (who !== rank || t === null) continue;
        const mark = tag("use", { class: `mark ${shape}`, href: `#${prefix}s-${shape}`, "data-t": t, x: 0, y: y + 14, role: "img" });
        mark.dataset.title = `${utc(this.data.start + t, 3)} rank ${rank} ${text}`;
        row.append(mark);
      }
      this.section.dataset.rank = rank;
      this.layout();
    }
  }

  // Opens what a place leads to, and shows the line.
  const open = (target) => {
    if (target.localName === "summary") target.parentNode.open = true;
    const line = target.localName === "a" ? document.getElementById(target.hash.slice(1)) : target.parentNode.querySelector(".cited");
    for (let one = (line || target).closest("details"); one; one = one.parentNode.closest("details")) one.open = true;
    (line || target).scrollIntoView({ block: "center" });
  };

  const copyButton = (text, section) => {
    const root = section.closest("[data-root]")?.dataset.root;
    const whole = root && !text.startsWith("/") ? `${root}/${text}` : text;
    const one = button("copy", `Copy ${whole}`, async (event) => {
      event.preventDefault();
      event.stopPropagation();
      try {
        await navigator.clipboard.writeText(whole);
      } catch {
        const area = html("textarea", "", whole);
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
      }
      one.textContent = "copied";
      setTimeout(() => { one.textContent = "copy"; }, 1500);
    });
    one.className = "copy";
    return one;
  };

  const pictures = [...document.querySelectorAll("section.picture")].map((section) => new Picture(section));

  for (const code of document.querySelectorAll("code.place")) {
    const holder = code.closest("summary, a"), copy = copyButton(code.textContent, code);
    if (holder?.localName === "summary") holder.append(copy);
    else if ((holder || code).nextElementSibling?.matches("a.anchor")) (holder || code).nextElementSibling.after(copy);
    else (holder || code).after(copy);
  }
  for (const command of document.querySelectorAll("pre.command, code.command")) {
    const frame = html("span", "with-copy");
    command.before(frame);
    frame.append(command, copyButton(command.textContent, document.body));
  }
  // A link to lines that stand elsewhere opens a copy of them below itself.
  for (const link of document.querySelectorAll("a.to")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const old = link.parentNode.querySelector(":scope > .excerpt.here");
      if (old) return old.remove();
      const line = document.getElementById(link.hash.slice(1)), list = line.parentNode.cloneNode(true);
      list.classList.add("here");
      for (const one of list.children) {
        one.classList.toggle("cited", one.id === line.id);
        one.removeAttribute("id");
      }
      link.parentNode.append(list);
      const cited = list.querySelector(".cited");
      list.scrollTop = cited.offsetTop - list.offsetTop - list.clientHeight / 2;
      return undefined;
    });
  }
  for (const details of document.querySelectorAll("details:not(.more)")) {
    details.addEventListener("toggle", () => {
      const list = details.querySelector(".excerpt"), cited = list && list.querySelector(".cited");
      if (details.open && cited) list.scrollTop = cited.offsetTop - list.offsetTop - list.clientHeight / 2;
    });
  }
  for (const time of document.querySelectorAll("time")) {
    const moment = new Date(time.dateTime);
    if (!Number.isNaN(moment.getTime())) time.title = `${moment.toLocaleString()} in your time zone`;
  }

  // On paper everything is open, and the whole time is shown.
  let closed = [];
  const toPaper = () => {
    if (closed.length) return;
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const one of closed) one.open = true;
    for (const picture of pictures) {
      picture.printing = true;
      picture.before = picture.view;
      picture.view = picture.full.slice();
      picture.layout(1000);
    }
  };
  const fromPaper = () => {
    for (const one of closed) one.open = false;
    closed = [];
    for (const picture of pictures) {
      picture.printing = false;
      if (picture.before) picture.view = picture.before;
      picture.layout();
    }
  };
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", fromPaper);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const picture of pictures) for (const plot of picture.plots) plot.redraw();
  });
  matchMedia("print").addEventListener("change", (event) => (event.matches ? toPaper() : fromPaper()));
})();
