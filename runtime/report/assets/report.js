(() => {
  "use strict";
  const read = (id) => {
    const element = document.getElementById(id);
    return element ? JSON.parse(element.textContent) : null;
  };

  // Colours follow the page: Vega passes "currentColor" on to the SVG.
  const config = { ...read("chart-config"), font: getComputedStyle(document.body).fontFamily };

  const save = (name, text, type) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  // The numbers of a chart with the names of its axes for the columns.
  const table = (specification) => {
    const columns = specification.usermeta.columns;
    const quote = (value) => value === undefined ? "" : /[",\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
    const lines = specification.datasets.cells.map((cell) => columns.map(({ field }) => quote(cell[field])).join(","));
    return columns.map(({ title }) => quote(title)).join(",") + "\r\n" + lines.join("\r\n") + "\r\n";
  };

  const schema = "https://vega.github.io/schema/vega-lite/v" + (window.vegaLite ? window.vegaLite.version.split(".")[0] : "5") + ".json";

  // Under a chart: the chart, its numbers and its specification to take away.
  const offer = (place, specification, view) => {
    const name = place.getAttribute("aria-label").replace(/[^\p{L}\p{N}]+/gu, "-");
    const offers = {
      SVG: async () => save(name + ".svg", await view.toSVG(), "image/svg+xml"),
      PNG: async () => (await view.toCanvas(2)).toBlob((picture) => save(name + ".png", picture, "image/png")),
      "numbers (CSV)": () => save(name + ".csv", table(specification), "text/csv"),
      "specification (Vega-Lite)": () => save(name + ".vl.json", JSON.stringify({ $schema: schema, config, ...specification }, null, 1), "application/json")
    };
    const line = document.createElement("p");
    line.className = "take";
    line.append("Save: ");
    for (const [what, give] of Object.entries(offers)) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = what;
      button.addEventListener("click", give);
      line.append(button, " ");
    }
    place.after(line);
  };

  const specifications = read("charts") || {};
  if (window.vegaEmbed) {
    const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
    const options = {
      mode: "vega-lite",
      renderer: "svg",
      config,
      tooltip: { theme: dark ? "dark" : "light" },
      actions: false
    };
    for (const [id, specification] of Object.entries(specifications)) {
      const place = document.getElementById(id);
      if (!place) continue;
      window.vegaEmbed(place, specification, options).then(
        (drawn) => {
          // The place has the chart's name; the marks inside have none that would help who does not see them.
          for (const drawing of place.querySelectorAll("svg")) drawing.setAttribute("aria-hidden", "true");
          offer(place, specification, drawn.view);
          place.dataset.drawn = "yes";
        },
        (error) => {
          place.textContent = "This chart could not be drawn: " + error.message + ". The table has its numbers.";
          console.error(error);
        }
      );
    }
  }

  const unpacked = async (element) => {
    const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream(element.dataset.packed))).text();
  };
  const button = document.getElementById("download");
  const data = document.getElementById("data");
  if (button && data) {
    button.hidden = false;
    button.addEventListener("click", () => {
      unpacked(data).then((text) => save(document.querySelector("h1").textContent + ".json", text, "application/json"));
    });
  }

  // Boxes that scroll are stops for the keyboard as long as there is something to scroll.
  const boxes = document.querySelectorAll(".scroll, pre");
  const settle = () => {
    for (const box of boxes) {
      if (box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  settle();
  window.addEventListener("resize", settle);
  document.addEventListener("toggle", settle, true);

  // A page that is loaded again is folded as it was: what stands below stays where it was seen.
  const names = new Map();
  const folds = [...document.querySelectorAll("details")].map((element) => {
    const name = (element.closest("section[id]")?.id ?? "") + " " + element.querySelector("summary").textContent;
    names.set(name, (names.get(name) ?? 0) + 1);
    return [element, `${name} ${names.get(name)}`];
  });
  try {
    const place = "folds of " + location.pathname;
    const open = JSON.parse(sessionStorage.getItem(place) ?? "null");
    for (const [element, name] of folds) if (open) element.open = open.includes(name);
    window.addEventListener("pagehide", () => {
      sessionStorage.setItem(place, JSON.stringify(folds.flatMap(([element, name]) => element.open ? [name] : [])));
    });
  } catch {
    // A browser may give a page nothing to remember by.
  }

  // What is folded on the screen is wanted on paper.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const element of folded) element.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const element of folded) element.open = false;
  });
})();
