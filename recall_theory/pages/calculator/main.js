// Controls, address and results, kept together: every change asks for a result, and only the newest one counts.

const PAUSE = 300; // ms of rest before the address is rewritten and the curve is calculated
const live = new Engine("calculate");
const state = opening();
let asked = 0; // number of the newest question
let answered = 0; // number of the question whose result is shown
const timers = {}; // by what they are for

const curve = new Curve((name, value) => {
  state[name] = String(value);
  refresh();
});
const { hold } = control(state, changed);
element("along").append(...SIZES.map((name) => new Option(name)));
element("along").addEventListener("change", () => { state.along = element("along").value; changed(); });

/** The whole page from the state, after a change that no control made. */
function refresh() {
  showControls(state);
  hold();
  changed();
}

function changed() {
  const { setting, problems } = read(state);
  asked += 1;
  showProblems(problems);
  later("address", PAUSE, () => history.replaceState(null, "", toHash(state)));
  curve.stop();
  clearTimeout(timers.curve);
  element("mlp-sizes").hidden = !state.mlp;
  element("hold").disabled = Boolean(problems.V || problems.N);
  element("ratio").textContent = problems.V || problems.N ? "-" : number(setting.N / setting.V);
  element("along").options[SIZES.indexOf("m")].disabled = !state.mlp;
  const wrong = Object.keys(problems).length > 0;
  if (wrong) {
    live.forget();
    stale(`No result: see ${Object.keys(problems).join(", ")}.`);
    return;
  }
  showFormulas(setting);
  element("command").textContent = asCommand(setting);
  element("python").textContent = asPython(setting);
  stale("Calculating ...", true);
  const question = asked;
  live.ask(setting, (result) => answer(question, setting, result));
}

/** Shows a result, unless one of a newer setting is there already. */
function answer(question, setting, result) {
  if (question < answered) return;
  answered = question;
  if (result.error && question === asked) {
    showProblems({ [shownAt(result.error.parameter)]: result.error.message });
    stale(`No result: ${result.error.message}.`);
  } else if (result.failure && question === asked) {
    stale(`The calculation failed: ${result.failure}`);
  } else if (result.predicted) {
    showResult(result);
    if (question === asked) current(setting, result);
  }
}

/** The control beside which a complaint about a parameter stands. */
const shownAt = (parameter) => (element(`${parameter}-problem`) ? parameter : "embedding");

/** Greys what is shown: it belongs to another setting. */
function stale(status, busy = false) {
  for (const id of ["predicted", "budget", "bounds", "curve"]) element(id).classList.add("stale");
  element("predicted").setAttribute("aria-busy", String(busy));
  element("status").textContent = status;
}

/** What is shown belongs to the setting; the curve around it comes after a pause. */
function current(setting, result) {
  for (const id of ["predicted", "budget", "bounds"]) element(id).classList.remove("stale");
  element("predicted").setAttribute("aria-busy", "false");
  later("announcement", 2 * PAUSE, () => { element("announce").textContent = spoken(result); });
  later("curve", PAUSE, () => {
    const name = state.along === "m" && !state.mlp ? "N" : state.along;
    element("along").value = name;
    curve.begin(name, setting, result.predicted, state.hold ? setting.N / setting.V : null);
    element("curve").classList.remove("stale");
  });
}

/** Does something after a time without another call for the same purpose. */
function later(purpose, time, act) {
  clearTimeout(timers[purpose]);
  timers[purpose] = setTimeout(act, time);
}

async function copy(what) {
  const text = what === "link" ? location.href.split("#")[0] + toHash(state) : element(what).textContent;
  try {
    await navigator.clipboard.writeText(text);
    element("copied").textContent = "Copied.";
  } catch {
    element("copied").textContent = `This browser doesn't let a page copy; here it is: ${text}`;
  }
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", () => copy(button.dataset.copy));
}
addEventListener("hashchange", () => { Object.assign(state, fromHash(location.hash)); refresh(); });
Object.assign(state, fromHash(location.hash));
refresh();
