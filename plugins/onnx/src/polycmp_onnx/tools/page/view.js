"use strict";
// Draws the graph in #graph. Nodes come with their ranks; they are laid out band by band, which keeps the layout quick
// for thousands of nodes, and only bands in view are shown.
(() => {
  const data = JSON.parse(document.getElementById("graph").textContent);
  const svg = document.querySelector("svg"), main = document.querySelector("main");
  const details = document.getElementById("details"), found = document.getElementById("found");
  const BAND = 40, NAMESPACE = "http://www.w3.org/2000/svg";
  const make = (name, attributes, parent) => {
    const element = document.createElementNS(NAMESPACE, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (parent) parent.append(element);
    return element;
  };
  const bandOf = (item) => Math.floor(item.rank / BAND);
  const short = (text, length) => (text.length <= length ? text : "…" + text.slice(1 - length));

  // --- folding: what is drawn are items, which are operators or modules of several
  const QUANTISING = new Set(["QuantizeLinear", "DequantizeLinear"]);
  const folds = { depth: 0, quantising: false }, opened = new Set();
  let items = [], links = [], drawnAs = new Map();
  const moduleOf = (node) => {
    if (!folds.depth || node.path.length < folds.depth) return "";
    let length = folds.depth;
    while (length <= node.path.length && opened.has(node.path.slice(0, length).join("/"))) length += 1;
    return length <= node.path.length ? node.path.slice(0, length).join("/") : "";
  };
  function fold() {
    const modules = new Map();
    const hidden = (node) => folds.quantising && QUANTISING.has(node.op);
    for (const node of data.nodes) {
      const name = moduleOf(node);
      if (name && !hidden(node)) modules.set(name, [...(modules.get(name) ?? []), node]);
    }
    const made = new Map();
    items = [];
    drawnAs = new Map();
    for (const node of data.nodes) {
      const name = moduleOf(node), members = modules.get(name) ?? [];
      if (hidden(node)) continue;
      if (members.length < 2) { items.push(node); drawnAs.set(node, node); continue; }
      if (!made.has(name)) {
        const errors = members.map((member) => member.error).filter((error) => error !== undefined);
        const item = {
          id: data.nodes.length + made.size, kind: "module", op: name.split("/").at(-1), name, members,
          inputs: [], outputs: [], attributes: {}, domain: "", rank: Math.min(...members.map((member) => member.rank)),
          first: members.some((member) => member.first), ...(errors.length ? { error: Math.max(...errors) } : {}),
        };
        made.set(name, item);
        items.push(item);
      }
      drawnAs.set(node, made.get(name));
    }
    const into = new Map();
    for (const edge of data.edges) into.set(edge.to, [...(into.get(edge.to) ?? []), edge.from]);
    const sources = (id) => {  // of an operator that is not drawn: what it reads is read in its place
      const node = data.nodes[id];
      return drawnAs.has(node) ? [node] : (into.get(id) ?? []).flatMap(sources);
    };
    const seen = new Set();
    links = [];
    for (const edge of data.edges) {
      const to = drawnAs.get(data.nodes[edge.to]);
      if (!to) continue;
      for (const source of sources(edge.from)) {
        const from = drawnAs.get(source), key = `${from.id} ${to.id}`;
        if (from === to || seen.has(key)) continue;
        seen.add(key);
        links.push({ from, to, tensor: edge.tensor });
      }
    }
    for (const node of data.nodes) if (!drawnAs.has(node)) drawnAs.set(node, drawnAs.get(sources(node.id)[0]));
  }

  // --- layout
  let areas = [], bands = [], inside = new Map(), across = [];
  function lay() {
    bands = [];
    for (const item of items) (bands[bandOf(item)] ??= []).push(item);
    bands = bands.filter(Boolean);
    const bandAt = new Map(bands.flatMap((band, index) => band.map((item) => [item, index])));
    for (const item of items) {
      item.width = Math.max(90, 7.2 * Math.max(item.op.length, Math.min(item.name.length, 30) * 0.75) + 16);
      [item.height, item.band] = [34, bandAt.get(item)];
    }
    [inside, across] = [new Map(), []];
    const into = new Map();
    for (const link of links) {
      const { from, to } = link;
      if (from.band === to.band) inside.set(from.band, [...(inside.get(from.band) ?? []), link]);
      else { across.push(link); into.set(to.band, [...(into.get(to.band) ?? []), link]); }
    }
    let top = 0;
    areas = [];
    bands.forEach((band, index) => {
      const graph = new dagre.graphlib.Graph({ multigraph: true });
      graph.setGraph({ nodesep: 14, edgesep: 8, ranksep: 26, ranker: "longest-path" });
      for (const item of band) graph.setNode(String(item.id), { width: item.width, height: item.height });
      for (const { from, to, tensor } of inside.get(index) ?? []) graph.setEdge(String(from.id), String(to.id), {}, tensor);
      dagre.layout(graph);
      const shifts = (into.get(index) ?? []).filter(({ from }) => from.x !== undefined && from.band < index)
        .map(({ from, to }) => from.x - graph.node(String(to.id)).x);
      const left = shifts.length ? shifts.reduce((sum, item) => sum + item, 0) / shifts.length : 0;
      for (const item of band) {
        const place = graph.node(String(item.id));
        [item.x, item.y] = [place.x + left, place.y + top];
      }
      for (const link of inside.get(index) ?? []) {
        const points = graph.edge(String(link.from.id), String(link.to.id), link.tensor).points;
        link.points = points.map((point) => [point.x + left, point.y + top]);
      }
      const height = graph.graph().height;
      areas[index] = { top, bottom: top + height };
      top += height + 40;
    });
  }

  // --- colours
  const errors = data.nodes.map((node) => node.error).filter((error) => error > 0 && Number.isFinite(error));
  const [low, high] = [Math.log10(Math.min(1e-7, ...errors)), Math.log10(Math.max(1e-2, ...errors))];
  const colour = (error) => {
    const part = error > 0 ? Math.min(1, Math.max(0, (Math.log10(error) - low) / (high - low))) : 0;
    return `hsl(${Math.round(140 - 140 * part)} 65% ${Math.round(62 - 8 * part)}%)`;
  };

  // --- drawing
  const scene = make("g", {}, svg);
  let groups = [];
  function drawAll() {
    scene.replaceChildren();
    const lines = make("g", {}, scene);
    groups = [];
    for (const { from, to } of across) {
      const [x, y, u, v] = [from.x, from.y + from.height / 2, to.x, to.y - to.height / 2];
      const path = make("path", { d: `M${x},${y}C${x},${y + 60} ${u},${v - 60} ${u},${v}` }, lines);
      if (Math.abs(to.band - from.band) > 1) path.classList.add("long");
    }
    bands.forEach((band, index) => {
      const group = (groups[index] = make("g", {}, scene));
      for (const link of inside.get(index) ?? []) {
        make("path", { d: "M" + link.points.map((point) => point.join()).join("L") }, group);
      }
      for (const item of band) draw(item, group);
    });
    document.body.dataset.drawn = String(items.length);
  }
  function draw(node, group) {
    const kinds = ["node", node.kind, ...(node.error === undefined ? [] : ["judged"]), ...(node.first ? ["first"] : [])];
    const box = make("g", { class: kinds.join(" "), transform: `translate(${node.x},${node.y})`, tabindex: 0, role: "button" }, group);
    box.dataset.id = node.id;
    const rect = make("rect", { x: -node.width / 2, y: -node.height / 2, width: node.width, height: node.height }, box);
    if (node.error !== undefined) rect.style.fill = colour(node.error);
    make("text", { y: node.name ? -5 : 0 }, box).textContent = node.op;
    const name = node.kind === "module" ? `${node.members.length} operators` : short(node.name, 30);
    make("text", { y: 9, class: "name" }, box).textContent = name;
    make("title", {}, box).textContent = node.name || node.op;
    node.box = box;
  }
  function arrange(node) {
    fold();
    lay();
    drawAll();
    drawOverview();
    if (node && drawnAs.get(node)) choose(node, true);
    else home();
  }

  // --- the whole graph, small
  const overview = document.createElement("canvas"), frame = document.createElement("div");
  frame.id = "frame";
  overview.id = "overview";
  overview.title = "The whole graph";
  main.append(overview, frame);
  let small = null;
  function drawOverview() {
    const [width, height] = [overview.clientWidth, overview.clientHeight];
    if (!width || !items.length) { small = null; return; }
    [overview.width, overview.height] = [width, height];
    const [left, right] = [Math.min(...items.map((item) => item.x)), Math.max(...items.map((item) => item.x))];
    const [top, bottom] = [Math.min(...items.map((item) => item.y)), Math.max(...items.map((item) => item.y))];
    const across = Math.min((width - 12) / Math.max(right - left, 1), 0.5), down = (height - 12) / Math.max(bottom - top, 1);
    small = { left: left - (width - 12 - (right - left) * across) / 2 / across, top, across, down: Math.min(down, 0.5) };
    const pen = overview.getContext("2d"), pale = getComputedStyle(document.body).getPropertyValue("--pale");
    for (const item of items) {
      pen.fillStyle = item.error === undefined ? pale : colour(item.error);
      const [x, y] = [6 + (item.x - small.left) * small.across, 6 + (item.y - small.top) * small.down];
      const size = item.first ? 6 : 3;
      pen.fillRect(x - size / 2, y - size / 2, size, size);
    }
  }
  function frameView() {
    frame.style.display = small ? "" : "none";
    if (!small) return;
    const [x, y] = [-view.x / view.scale, -view.y / view.scale];
    const [w, h] = [main.clientWidth / view.scale, main.clientHeight / view.scale];
    const clip = (value, most) => Math.min(Math.max(value, 0), most);
    const [left, top] = [6 + (x - small.left) * small.across, 6 + (y - small.top) * small.down];
    const from = [clip(left, overview.clientWidth - 4), clip(top, overview.clientHeight - 4)];
    const to = [clip(left + w * small.across, overview.clientWidth), clip(top + h * small.down, overview.clientHeight)];
    [frame.style.left, frame.style.top] = [`${overview.offsetLeft + from[0]}px`, `${overview.offsetTop + from[1]}px`];
    [frame.style.width, frame.style.height] = [`${Math.max(4, to[0] - from[0])}px`, `${Math.max(4, to[1] - from[1])}px`];
  }
  const goTo = (event) => {
    if (!small || !(event.buttons & 1)) return;
    event.stopPropagation();
    const y = small.top + (event.offsetY - 6) / small.down, x = small.left + (event.offsetX - 6) / small.across;
    [view.x, view.y] = [main.clientWidth / 2 - x * view.scale, main.clientHeight / 2 - y * view.scale];
    show();
  };
  overview.addEventListener("pointerdown", goTo);
  overview.addEventListener("pointermove", goTo);

  // --- moving and zooming
  const view = { x: 0, y: 0, scale: 1 };
  const show = () => {
    scene.setAttribute("transform", `translate(${view.x},${view.y}) scale(${view.scale})`);
    svg.classList.toggle("far", view.scale < 0.5);
    const [from, to] = [-view.y / view.scale, (main.clientHeight - view.y) / view.scale];
    groups.forEach((group, band) => {
      const away = areas[band].bottom < from - 100 || areas[band].top > to + 100;
      group.style.display = away ? "none" : "";
    });
    frameView();
  };
  const zoom = (factor, x, y) => {
    const scale = Math.min(4, Math.max(0.02, view.scale * factor));
    view.x = x - ((x - view.x) * scale) / view.scale;
    view.y = y - ((y - view.y) * scale) / view.scale;
    view.scale = scale;
    show();
  };
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
  }, { passive: false });
  let drag = null;
  svg.addEventListener("pointerdown", (event) => { drag = { x: event.clientX - view.x, y: event.clientY - view.y, moved: false }; });
  window.addEventListener("pointermove", (event) => {
    if (!drag) return;
    drag.moved ||= Math.abs(event.clientX - drag.x - view.x) + Math.abs(event.clientY - drag.y - view.y) > 4;
    [view.x, view.y] = [event.clientX - drag.x, event.clientY - drag.y];
    main.classList.add("dragged");
    show();
  });
  window.addEventListener("pointerup", () => { drag = null; main.classList.remove("dragged"); });
  window.addEventListener("resize", () => { drawOverview(); show(); });

  // --- choosing
  const link = (text, node) => {
    if (node === undefined) return document.createTextNode(text);
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.addEventListener("click", () => choose(node, true));
    return button;
  };
  const add = (name, text, parent = details) => {
    const element = document.createElement(name);
    element.append(text);
    parent.append(element);
    return element;
  };
  const pairs = (values) => {
    const list = document.createElement("dl");
    for (const [key, value] of values) { add("dt", key, list); add("dd", String(value), list); }
    details.append(list);
  };
  function tensors(title, names, targets) {
    if (!names.length) return;
    add("h2", title);
    for (const name of names) {
      const tensor = data.tensors[name] ?? {}, line = add("p", "");
      line.append(link(name, targets(name)[0]), tensor.type ? `  ${tensor.type}` : "", tensor.weight ? "  (weight)" : "");
      for (const target of targets(name).slice(1)) line.append(", ", link(target.name || target.op, target));
      if (tensor.figures) pairs(Object.entries(tensor.figures));
    }
  }
  let chosen = null;
  function choose(node, centre) {
    if (chosen) chosen.box.classList.remove("chosen");
    const item = (chosen = node.kind === "module" ? node : drawnAs.get(node)) ?? null;
    item?.box.classList.add("chosen");
    details.replaceChildren();
    add("h2", node.name || "(no name)");
    add("p", node.domain ? `${node.domain}::${node.op}` : node.op);
    tensors("Inputs", node.inputs, (name) => makers.get(name) ?? []);
    tensors("Outputs", node.outputs, (name) => readers.get(name) ?? []);
    if (Object.keys(node.attributes).length) { add("h2", "Attributes"); pairs(Object.entries(node.attributes)); }
    if (node.kind === "module") {
      const button = add("button", "Open it", add("p", ""));
      button.addEventListener("click", () => open(node));
      const list = add("ul", "");
      for (const member of node.members.slice(0, 50)) add("li", link(`${member.op} ${member.name}`, member), list);
    }
    if (centre && item) {
      if (view.scale < 0.6) view.scale = 1;
      view.x = main.clientWidth / 2 - item.x * view.scale;
      view.y = main.clientHeight / 2 - item.y * view.scale;
      show();
    }
    history.replaceState(null, "", "#" + encodeURIComponent(node.name || node.outputs[0] || node.op));
  }
  const makers = new Map(), readers = new Map();
  for (const node of data.nodes) {
    for (const name of node.outputs) makers.set(name, [...(makers.get(name) ?? []), node]);
    for (const name of node.inputs) readers.set(name, [...(readers.get(name) ?? []), node]);
  }
  const chosenBy = (event) => {
    const box = event.target.closest(".node");
    if (box && !drag?.moved) choose(items.find((item) => item.id === Number(box.dataset.id)), false);
  };
  const open = (item) => { opened.add(item.name); arrange(item.members.find((member) => member.first) ?? item.members[0]); };
  svg.addEventListener("dblclick", () => { if (chosen?.kind === "module") open(chosen); });
  svg.addEventListener("click", chosenBy);
  svg.addEventListener("keydown", (event) => { if (event.key === "Enter") chosenBy(event); });

  // --- searching
  const search = document.querySelector("input[type=search]");
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase();
    const hits = !words ? [] : data.nodes.filter((node) =>
      [node.name, node.op, ...node.outputs].some((text) => text.toLowerCase().includes(words)));
    found.replaceChildren();
    for (const node of hits.slice(0, 50)) add("li", link(`${node.op} ${node.name || node.outputs[0] || ""}`, node), found);
    if (hits.length > 50) add("li", `and ${hits.length - 50} more`, found);
  });
  search.addEventListener("keydown", (event) => { if (event.key === "Enter") found.querySelector("button")?.click(); });

  function home() {
    const item = items[0] ?? { x: 0, y: 0 };
    [view.x, view.y] = [main.clientWidth / 2 - item.x * view.scale, 60 - item.y * view.scale];
    show();
  }

  // --- what can be folded
  const tools = document.getElementById("tools");
  const deepest = Math.max(0, ...data.nodes.map((node) => node.path.length));
  const current = () => (chosen?.kind === "module" ? chosen.members[0] : chosen);
  if (deepest) {
    const select = document.createElement("select"), label = document.createElement("label");
    for (let depth = 0; depth <= Math.min(deepest, 4); depth += 1) {
      const option = document.createElement("option");
      [option.value, option.textContent] = [depth, depth ? `modules, ${depth} deep` : "all operators"];
      select.append(option);
    }
    select.id = "depth";
    select.addEventListener("change", () => {
      const node = current();
      folds.depth = Number(select.value);
      opened.clear();
      chosen = null;
      arrange(node);
    });
    label.append("Show ", select);
    tools.append(label);
  }
  if (data.nodes.some((node) => QUANTISING.has(node.op))) {
    const box = document.createElement("input"), label = document.createElement("label");
    [box.type, box.id] = ["checkbox", "quantising"];
    box.addEventListener("change", () => {
      const node = current();
      folds.quantising = box.checked;
      chosen = null;
      arrange(node);
    });
    label.append(box, " fold QuantizeLinear and DequantizeLinear");
    tools.append(label);
  }

  fold();
  lay();
  drawAll();
  drawOverview();
  home();
  const wanted = decodeURIComponent(location.hash.slice(1));
  const start = data.nodes.find((node) => wanted && (node.name === wanted || node.outputs.includes(wanted)));
  const first = start ?? data.nodes.find((node) => node.first);
  if (first) choose(first, true);
})();
