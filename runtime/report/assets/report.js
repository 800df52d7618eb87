(() => {
  "use strict";
  const read = (id) => {
    const element = document.getElementById(id);
    return element ? JSON.parse(element.textContent) : null;
  };

  // Colours that follow the page: Vega passes "currentColor" on to the SVG.
  const ink = "currentColor";
  const font = getComputedStyle(document.body).fontFamily;
  const config = {
    background: "transparent",
    font,
    view: { stroke: "transparent" },
    axis: {
      labelColor: ink, titleColor: ink, tickColor: ink, domainColor: ink, gridColor: ink,
      gridOpacity: 0.12, domainOpacity: 0.4, tickOpacity: 0.4, labelFontSize: 12, titleFontSize: 12,
      titleFontWeight: 600, titlePadding: 10, labelPadding: 5, tickSize: 4
    },
    legend: { labelColor: ink, titleColor: ink, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 600, symbolSize: 80 },
    mark: { color: "#0072B2" },
    errorbar: { rule: { color: "#0072B2" } }
  };

  const specifications = read("charts") || {};
  if (window.vegaEmbed) {
    const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
    const options = {
      mode: "vega-lite",
      renderer: "svg",
      config,
      tooltip: { theme: dark ? "dark" : "light" },
      actions: { export: true, source: false, compiled: false, editor: false }
    };
    for (const [id, specification] of Object.entries(specifications)) {
      const place = document.getElementById(id);
      if (!place) continue;
      window.vegaEmbed(place, specification, options).then(
        () => { place.dataset.drawn = "yes"; },
        (error) => {
          place.textContent = "This chart could not be drawn: " + error.message + ". The table has its numbers.";
          console.error(error);
        }
      );
    }
  }

  const button = document.getElementById("download");
  const data = document.getElementById("data");
  if (button && data) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([data.textContent], { type: "application/json" }));
      link.download = (read("data").study || "study") + ".json";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
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
