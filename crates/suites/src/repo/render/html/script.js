// What the page does without, and is nicer with: a theme switch, tables to sort and filter, copying, pointed-at figures.
(() => {
  const root = document.documentElement;
  const saved = (set) => {
    // A page opened from a file may have no storage.
    try {
      if (set) localStorage.setItem("docent-theme", set);
      return localStorage.getItem("docent-theme");
    } catch {
      return null;
    }
  };
  if (["dark", "light"].includes(saved())) root.dataset.theme = saved();

  const make = (name, text, parent) => {
    const element = document.createElement(name);
    element.textContent = text;
    if (parent) parent.append(element);
    return element;
  };

  const theme = () => {
    const button = document.getElementById("theme");
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const current = () => root.dataset.theme || (dark.matches ? "dark" : "light");
    const show = () => (button.textContent = current() === "dark" ? "Light" : "Dark");
    button.addEventListener("click", () => {
      root.dataset.theme = current() === "dark" ? "light" : "dark";
      saved(root.dataset.theme);
      show();
    });
    dark.addEventListener("change", show);
    button.hidden = false;
    show();
  };

  const key = (row, at) => row.cells[at].dataset.sort ?? row.cells[at].textContent;
  const order = new Intl.Collator("en", { numeric: true }).compare;
  const sortable = (table) => {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, at) => {
      const button = make("button", head.textContent);
      button.type = "button";
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.ariaSort !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.ariaSort = up ? "ascending" : "descending";
        const rows = [...body.rows].sort((one, other) => order(key(one, at), key(other, at)));
        body.append(...(up ? rows : rows.reverse()));
      });
    });
    if (body.rows.length > 12) {
      const field = document.createElement("input");
      field.type = "search";
      field.className = "filter";
      field.placeholder = "Filter";
      field.setAttribute("aria-label", "Filter: " + table.caption.textContent);
      field.addEventListener("input", () => {
        const word = field.value.toLowerCase();
        for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(word);
      });
      table.parentElement.before(field);
    }
  };

  const copyable = (block) => {
    const frame = document.createElement("div");
    frame.className = "copied";
    block.replaceWith(frame);
    frame.append(block);
    const button = make("button", "Copy", frame);
    button.type = "button";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(block.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(block);
        button.textContent = "Selected";
      }
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
  };

  const tips = () => {
    const tip = make("div", "");
    tip.className = "tip";
    tip.hidden = true;
    document.body.append(tip);
    for (const title of document.querySelectorAll(".picture svg > * > title")) {
      title.parentElement.dataset.tip = title.textContent;
      title.remove();
    }
    const show = (event) => {
      const target = event.target.closest?.("[data-tip]");
      tip.hidden = !target;
      if (!target) return;
      tip.textContent = target.dataset.tip;
      const { width, height } = tip.getBoundingClientRect();
      const left = Math.min(event.clientX + 14, innerWidth - width - 8);
      const below = event.clientY + 18 + height < innerHeight;
      tip.style.left = Math.max(8, left) + "px";
      tip.style.top = (below ? event.clientY + 18 : event.clientY - height - 10) + "px";
    };
    document.addEventListener("pointermove", show);
    document.addEventListener("pointerdown", show);
    document.addEventListener("scroll", () => (tip.hidden = true), { passive: true });
  };

  const graph = (picture) => {
    const edges = [...picture.querySelectorAll(".edge")];
    const nodes = [...picture.querySelectorAll(".node")];
    const mark = (at) => {
      const near = new Set([at]);
      for (const edge of edges) {
        const { from, to } = edge.dataset;
        const touches = at !== undefined && (from === at || to === at);
        if (touches) near.add(from).add(to);
        edge.classList.toggle("near", touches);
        edge.classList.toggle("far", at !== undefined && !touches);
      }
      for (const node of nodes) {
        node.classList.toggle("near", node.dataset.node === at);
        node.classList.toggle("far", at !== undefined && !near.has(node.dataset.node));
      }
    };
    for (const node of nodes) {
      node.addEventListener("pointerenter", () => mark(node.dataset.node));
      node.addEventListener("pointerleave", () => mark(undefined));
    }
  };

  document.addEventListener("DOMContentLoaded", () => {
    theme();
    document.querySelectorAll(".box table").forEach(sortable);
    document.querySelectorAll("pre").forEach(copyable);
    document.querySelectorAll(".picture svg:has(.node)").forEach(graph);
    tips();
  });
})();
