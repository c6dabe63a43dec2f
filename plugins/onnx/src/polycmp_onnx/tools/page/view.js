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
  const bandOf = (node) => Math.floor(node.rank / BAND);
  const bands = [];
  for (const node of data.nodes) (bands[bandOf(node)] ??= []).push(node);
  const short = (text, length) => (text.length <= length ? text : "…" + text.slice(1 - length));
  for (const node of data.nodes) {
    node.width = Math.max(90, 7.2 * Math.max(node.op.length, Math.min(node.name.length, 30) * 0.75) + 16);
    node.height = 34;
  }

  const inside = new Map(), across = [];
  for (const edge of data.edges) {
    const [from, to] = [data.nodes[edge.from], data.nodes[edge.to]];
    if (bandOf(from) === bandOf(to)) inside.set(bandOf(from), [...(inside.get(bandOf(from)) ?? []), edge]);
    else across.push(edge);
  }
  const into = new Map();
  for (const edge of across) into.set(bandOf(data.nodes[edge.to]), [...(into.get(bandOf(data.nodes[edge.to])) ?? []), edge]);

  let top = 0;
  const areas = [];
  bands.forEach((nodes, band) => {
    const graph = new dagre.graphlib.Graph({ multigraph: true });
    graph.setGraph({ nodesep: 14, edgesep: 8, ranksep: 26, ranker: "longest-path" });
    for (const node of nodes) graph.setNode(String(node.id), { width: node.width, height: node.height });
    for (const edge of inside.get(band) ?? []) graph.setEdge(String(edge.from), String(edge.to), {}, edge.tensor);
    dagre.layout(graph);
    const shifts = (into.get(band) ?? []).map((edge) => data.nodes[edge.from].x - graph.node(String(edge.to)).x);
    const left = shifts.length ? shifts.reduce((sum, item) => sum + item, 0) / shifts.length : 0;
    for (const node of nodes) {
      const place = graph.node(String(node.id));
      [node.x, node.y] = [place.x + left, place.y + top];
    }
    for (const edge of inside.get(band) ?? []) {
      const points = graph.edge(String(edge.from), String(edge.to), edge.tensor).points;
      edge.points = points.map((point) => [point.x + left, point.y + top]);
    }
    const height = graph.graph().height;
    areas[band] = { top, bottom: top + height };
    top += height + 40;
  });

  // --- colours
  const errors = data.nodes.map((node) => node.error).filter((error) => error > 0 && Number.isFinite(error));
  const [low, high] = [Math.log10(Math.min(1e-7, ...errors)), Math.log10(Math.max(1e-2, ...errors))];
  const colour = (error) => {
    const part = error > 0 ? Math.min(1, Math.max(0, (Math.log10(error) - low) / (high - low))) : 0;
    return `hsl(${Math.round(140 - 140 * part)} 65% ${Math.round(62 - 8 * part)}%)`;
  };

  // --- drawing
  const scene = make("g", {}, svg), lines = make("g", {}, scene), groups = [];
  for (const edge of across) {
    const [from, to] = [data.nodes[edge.from], data.nodes[edge.to]];
    const [x, y, u, v] = [from.x, from.y + from.height / 2, to.x, to.y - to.height / 2];
    const path = make("path", { d: `M${x},${y}C${x},${y + 60} ${u},${v - 60} ${u},${v}` }, lines);
    if (bandOf(to) - bandOf(from) > 1) path.classList.add("long");
  }
  bands.forEach((nodes, band) => {
    const group = (groups[band] = make("g", {}, scene));
    for (const edge of inside.get(band) ?? []) make("path", { d: "M" + edge.points.map((point) => point.join()).join("L") }, group);
    for (const node of nodes) draw(node, group);
  });

  function draw(node, group) {
    const kinds = ["node", node.kind, ...(node.error === undefined ? [] : ["judged"]), ...(node.first ? ["first"] : [])];
    const box = make("g", { class: kinds.join(" "), transform: `translate(${node.x},${node.y})`, tabindex: 0, role: "button" }, group);
    box.dataset.id = node.id;
    const rect = make("rect", { x: -node.width / 2, y: -node.height / 2, width: node.width, height: node.height }, box);
    if (node.error !== undefined) rect.style.fill = colour(node.error);
    make("text", { y: node.name ? -5 : 0 }, box).textContent = node.op;
    make("text", { y: 9, class: "name" }, box).textContent = short(node.name, 30);
    make("title", {}, box).textContent = node.name || node.op;
    node.box = box;
  }

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
  window.addEventListener("resize", show);

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
    chosen = node;
    node.box.classList.add("chosen");
    details.replaceChildren();
    add("h2", node.name || "(no name)");
    add("p", node.domain ? `${node.domain}::${node.op}` : node.op);
    tensors("Inputs", node.inputs, (name) => makers.get(name) ?? []);
    tensors("Outputs", node.outputs, (name) => readers.get(name) ?? []);
    if (Object.keys(node.attributes).length) { add("h2", "Attributes"); pairs(Object.entries(node.attributes)); }
    if (centre) {
      if (view.scale < 0.6) view.scale = 1;
      view.x = main.clientWidth / 2 - node.x * view.scale;
      view.y = main.clientHeight / 2 - node.y * view.scale;
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
    if (box && !drag?.moved) choose(data.nodes[Number(box.dataset.id)], false);
  };
  svg.addEventListener("click", chosenBy);
  svg.addEventListener("keydown", (event) => { if (event.key === "Enter") chosenBy(event); });

  // --- searching
  const search = document.querySelector("input");
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase();
    const hits = !words ? [] : data.nodes.filter((node) =>
      [node.name, node.op, ...node.outputs].some((text) => text.toLowerCase().includes(words)));
    found.replaceChildren();
    for (const node of hits.slice(0, 50)) add("li", link(`${node.op} ${node.name || node.outputs[0] || ""}`, node), found);
    if (hits.length > 50) add("li", `and ${hits.length - 50} more`, found);
  });
  search.addEventListener("keydown", (event) => { if (event.key === "Enter") found.querySelector("button")?.click(); });

  const box = data.nodes[0] ?? { x: 0, y: 0 };
  [view.x, view.y] = [main.clientWidth / 2 - box.x, 60 - box.y];
  show();
  const wanted = decodeURIComponent(location.hash.slice(1));
  const start = data.nodes.find((node) => wanted && (node.name === wanted || node.outputs.includes(wanted)));
  const first = start ?? data.nodes.find((node) => node.first);
  if (first) choose(first, true);
  document.body.dataset.drawn = String(data.nodes.length);
})();
