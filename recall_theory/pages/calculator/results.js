// What was calculated: observables, noise budgets, remarks and bounds.

const BUDGETS = {
  attention: "Noise budget of attention",
  recall: "Noise budget of recall, once the right token is attended",
};

// A bound in plain words, by its name.
const PLAIN = {
  coverage: "A fact that never occurred among the samples can only be guessed.",
  "bits: all right": "An assignment of V labels takes log2 V! bits, and the parameters hold so many and no more.",
  "bits: few wrong": "The same where one fact in a hundred may be wrong.",
  "bits: on average": "The recall that so many bits allow on average.",
  "gradient access": "One look at the first gradient, in noise of its own size, tells so much and no more.",
};

/** An element with attributes, and text or elements in it. */
function make(tag, attributes = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

/** A number that people read rounded and programs whole. */
const figure = (value, shown) => make("data", { value: String(value) }, shown);

/** A bar of a share of its width; the number beside it says the same. */
function bar(share, kind) {
  const filled = make("span", { class: `filled ${kind}` });
  filled.style.width = `${100 * Math.min(Math.max(share, 0), 1)}%`;
  return make("span", { class: "bar", "aria-hidden": "true" }, filled);
}

/** A bar with a whisker of one standard deviation to either side. */
function whiskered(mean, std, kind) {
  const made = bar(mean, kind);
  const whisker = make("span", { class: "whisker" });
  const [low, high] = [Math.max(mean - std, 0), Math.min(mean + std, 1)];
  whisker.style.left = `${100 * low}%`;
  whisker.style.width = `${100 * (high - low)}%`;
  made.append(whisker);
  return made;
}

function showObservables({ predicted }) {
  element("observables").replaceChildren(...OBSERVABLES.map((name) => make("tr", { "data-observable": name },
    make("th", { scope: "row", class: "words" }, name, make("small", {}, ` ${declared.meaning[name]}`)),
    make("td", { class: "mean" }, figure(predicted[name], probability(predicted[name]))),
    make("td", { class: "std" }, "± ", figure(predicted.std[name], deviation(predicted.std[name]))),
    make("td", { class: "drawn" }, whiskered(predicted[name], predicted.std[name], name)))));
}

function showBudgets({ terms }) {
  const steps = Object.keys(BUDGETS).filter((step) => terms[step]);
  element("budgets").replaceChildren(...steps.map((step) => budget(step, BUDGETS[step], terms[step])));
}

function budget(step, title, terms) {
  const total = Object.values(terms).reduce((sum, value) => sum + value, 0);
  const rows = Object.entries(terms).sort((a, b) => b[1] - a[1]).map(([cause, value]) => {
    const share = total > 0 ? value / total : NaN;
    return make("tr", { "data-cause": cause },
      make("th", { scope: "row", class: "words" }, cause),
      make("td", { class: "drawn" }, bar(share || 0, step)),
      make("td", {}, percent(share)),
      make("td", { class: "value" }, figure(value, number(value))));
  });
  return make("table", { class: "budget", id: `budget-${step}` },
    make("caption", {}, title),
    make("thead", {}, make("tr", {},
      make("th", { scope: "col", class: "words" }, "cause"), make("td"),
      make("th", { scope: "col" }, "share"), make("th", { scope: "col" }, "(noise/signal)²"))),
    make("tbody", {}, ...rows),
    make("tfoot", {}, make("tr", {},
      make("th", { scope: "row", class: "words" }, "all together"), make("td"), make("td"),
      make("td", { class: "value" }, figure(total, number(total))))));
}

/** In a sentence: how much is recalled, and what limits the step that falls shorter. */
function showLimit({ setting, predicted, limited_by: cause, remarks }) {
  const recalled = count(setting.V * predicted.recall);
  element("limited").replaceChildren(
    `Of ${count(setting.V)} facts, about ${recalled} are recalled once the right token is attended. Limited by `,
    make("b", {}, cause), ".");
  element("remarks").replaceChildren(...remarks.map((text) => make("p", { class: "remark" }, text)));
}

function showBounds({ bounds, setting }) {
  element("bound-rows").replaceChildren(...bounds.flatMap((b) => [
    make("tr", { "data-bound": b.name, class: "numbers" },
      make("th", { scope: "row", class: "words" }, b.name, make("small", {}, ` ${b.strength}`)),
      cell("recall at most", b.recall, probability(b.recall)),
      cell("least N", b.least_N, leastN(b, setting)),
      cell("largest V", b.largest_V, b.largest_V === null ? "any" : count(b.largest_V))),
    make("tr", { class: "said" }, make("td", { colspan: "4", class: "words" },
      b.allows === false ? make("b", {}, "0.99 is out of reach. ") : "", `${PLAIN[b.name] ?? ""} `,
      make("span", { class: "statement" }, b.statement.replaceAll("<=", "≤").replaceAll(">=", "≥")), ". ",
      make("small", {}, `Binds ${b.binds}; broken by ${b.broken_by}.`))),
  ]));
}

const cell = (label, value, shown) => make("td", { "data-label": label }, figure(value, shown));

/** The least N; a bound that no N changes either allows the target or does not. */
function leastN(bound, setting) {
  if (bound.least_N !== null) return count(bound.least_N);
  if (bound.name === "gradient access") return setting.L === 1 ? "-" : "over 10^15";
  return bound.allows === false ? "no N" : "any";
}

function showResult(result) {
  showObservables(result);
  showLimit(result);
  showBudgets(result);
  showBounds(result);
}

/** The formulas of the model at hand. */
function showFormulas(setting) {
  const model = setting.m !== null ? "mlp" : setting.embedding === "orthogonal" ? "orthogonal" : "plain";
  for (const group of document.querySelectorAll("[data-model]")) group.hidden = group.dataset.model !== model;
}

/** One sentence for readers by ear. */
function spoken({ predicted, limited_by: cause }) {
  return `${OBSERVABLES.map((name) => `${name} ${probability(predicted[name])}`).join(", ")}; limited by ${cause}`;
}
