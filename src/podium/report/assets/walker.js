// What each feature adds to the difference of two documents' scores, for any two: the same numbers as `podium explain`.

function startWalker(model) {
  if (model.kind === "linear") return (a, b) => model.weights.map((weight, j) => weight * (filled(model, a, j) - filled(model, b, j)));
  const read = { feature: "<i4", threshold: "<f8", missing_left: "<u1", child: "<i4", value: "<f8", root: "<i4", set_of: "<i4", tables: "<u1" };
  const trees = Object.fromEntries(Object.entries(read).map(([name, kind]) => [name, unpacked(model[name], kind)]));
  return (a, b) => {
    const adds = new Float64Array(a.length);
    for (const root of trees.root) walk(trees, root, a, b, [], [], adds);
    return adds;
  };
}

function filled(model, row, j) {
  return Number.isNaN(row[j]) ? model.missing[j] : row[j];
}

function goesLeft(trees, at, value) {
  if (trees.set_of[at] >= 0) return trees.tables[256 * trees.set_of[at] + (value >= 0 && value < 255 ? Math.trunc(value) + 1 : 0)] === 1;
  return Number.isNaN(value) ? trees.missing_left[at] === 1 : value <= trees.threshold[at];
}

// Features that part the two documents on the way belong to one of them: a leaf gives (|A| - 1)! |B|!/(|A| + |B|)! of its
// value to each that is a's, and takes |A|! (|B| - 1)!/(|A| + |B|)! of it from each that is b's: Shapley values.
function walk(trees, at, a, b, ofA, ofB, adds) {
  while (at >= 0) {
    const feature = trees.feature[at], left = [goesLeft(trees, at, a[feature]), goesLeft(trees, at, b[feature])];
    const follows = ofA.includes(feature) ? 0 : ofB.includes(feature) ? 1 : left[0] === left[1] ? 0 : -1;
    if (follows < 0) {
      walk(trees, trees.child[2 * at + (left[0] ? 0 : 1)], a, b, [...ofA, feature], ofB, adds);
      walk(trees, trees.child[2 * at + (left[1] ? 0 : 1)], a, b, ofA, [...ofB, feature], adds);
      return;
    }
    at = trees.child[2 * at + (left[follows] ? 0 : 1)];
  }
  const value = trees.value[~at], n = [ofA.length, ofB.length];
  for (const feature of ofA) adds[feature] += value * share(n[0] - 1, n[1]);
  for (const feature of ofB) adds[feature] -= value * share(n[1] - 1, n[0]);
}

function share(one, other) { // one! other!/(one + other + 1)!
  let result = 1 / (one + other + 1);
  for (let k = 1; k <= one; k++) result *= k / (other + k);
  return result;
}
