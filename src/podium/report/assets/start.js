// Everything on the page comes from its block of JSON.

(function start() {
  const content = JSON.parse(document.getElementById("content").textContent);
  const labels = [...new Set(content.queries.queries.flatMap((query) => query.labels))].sort((a, b) => a - b);
  showTiles(content);
  showQuality(content);
  showGrades(content.grades);
  const open = startExplorer(content, labels);
  showExtremes(content, labels, open);
  showFunctions(content);
  showCurves(content);
  showData(content);
  showModel(content.model);
  showReproduction(content.reproduction);
  document.documentElement.dataset.ready = "yes";
})();
