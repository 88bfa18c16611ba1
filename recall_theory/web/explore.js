// The page of `recall-theory explore`: it sends what its form holds and shows the records that come back.
"use strict";

const element = (id) => document.getElementById(id);
const form = element("controls");
const plot = element("plot");
const SIZES = ["V", "L", "d", "N", "m"];
const PAUSE = 300; // ms of rest before the address is rewritten, or what is typed is called wrong
const page = crypto.randomUUID();
const timers = {};

let number = 0; // of the newest request
let running = new AbortController(); // of the newest request
let ratio = null; // N/V, which may be held while V moves
let read = null; // the value of the size at which the curve is read

function later(purpose, act) {
  clearTimeout(timers[purpose]);
  timers[purpose] = setTimeout(act, PAUSE);
}

/** Asks about what the form holds, in place of the request before. `moved` is the size that was changed. */
async function ask(moved) {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  clearTimeout(timers.problems);
  element("mlp-sizes").hidden = element("mlp-sizes").disabled = !element("mlp").checked;
  element("along").querySelector("[value=m]").disabled = !element("mlp").checked;
  grey("Calculating ...");
  document.body.setAttribute("aria-busy", "true");
  const asked = { page, number: number += 1, width: plot.clientWidth };
  const held = moved === "V" && element("hold").checked && ratio !== null;
  if (held) asked.ratio = ratio;
  const query = new URLSearchParams([...new FormData(form), ...Object.entries(asked)]);
  later("address", () => history.replaceState(null, "", `/?${new URLSearchParams(new FormData(form))}`));
  try {
    const response = await fetch(`/answers?${query}`, { signal, headers: { "X-Token": form.dataset.token } });
    if (!response.ok) throw new Error(await response.text());
    for await (const record of lines(response.body)) {
      if (signal.aborted) return;
      show[record.kind](record, held);
    }
  } catch (error) {
    if (!signal.aborted) grey(`No answer: ${error.message.trim()}. Is the program still running?`);
  } finally {
    if (!signal.aborted) document.body.setAttribute("aria-busy", "false");
  }
}

/** The objects of a stream that has one a line, as they come. */
async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const parts = (rest + next.value).split("\n");
    rest = parts.pop();
    yield* parts.map((part) => JSON.parse(part));
  }
}

/** Marks what is shown as that of an older setting, and says why. */
function grey(status) {
  for (const section of document.querySelectorAll(".result")) section.classList.add("stale");
  element("status").textContent = status;
}

/** Puts what the server has rendered into its places, in the section `id`. */
function place(id, html) {
  for (const [name, text] of Object.entries(html)) element(name).innerHTML = text;
  element(id).classList.remove("stale");
}

/** What is done with a record of each kind. */
const show = {
  problems({ problems }) {
    later("problems", () => {
      showProblems(problems);
      grey(`No result: see ${Object.keys(problems).join(", ")}.`);
    });
  },

  setting({ setting, ratio: [value, shown], model, command, python }, held) {
    if (held) element("N").value = setting.N;
    else ratio = value;
    showProblems({});
    for (const name of SIZES) showSlider(name, setting[name]);
    for (const group of document.querySelectorAll("[data-model]")) group.hidden = group.dataset.model !== model;
    for (const [id, text] of Object.entries({ ratio: shown, command, python })) element(id).textContent = text;
  },

  prediction({ html, words }) {
    place("predicted", html);
    element("budget").classList.remove("stale");
    later("announcement", () => { element("announcement").textContent = words; });
  },

  bounds({ html }) { place("bounds", html); },

  computing() {},

  curve({ html, along, note }) {
    place("curve", html);
    element("along").value = along;
    element("along-note").textContent = note;
    readOut(points().find(({ dataset }) => dataset.value === read));
  },
};

function showProblems(problems) {
  for (const control of document.querySelectorAll("[aria-describedby$=-problem]")) {
    element(`${control.id}-problem`).textContent = problems[control.id] ?? "";
    control.setAttribute("aria-invalid", control.id in problems);
  }
}

const steps = (slider) => slider.dataset.steps.split(" ").map(Number);

/** The slider at the step that is nearest to a value. */
function showSlider(name, value) {
  if (value === null) return;
  const slider = element(`${name}-slider`);
  slider.value = Math.max(0, steps(slider).findLastIndex((step) => step <= value * 2 ** (1 / 8)));
  slider.setAttribute("aria-valuetext", value.toLocaleString("en-US"));
}

// Reading the curve

const points = () => [...plot.querySelectorAll("[data-value]")];

function readOut(point) {
  read = point?.dataset.value ?? null;
  for (const other of points()) other.classList.toggle("read", other === point);
  element("readout").textContent = point?.dataset.words ?? element("readout").title;
}

function pointAt({ clientX }) {
  const apart = (point) => Math.abs(point.getBoundingClientRect().x - clientX);
  readOut(points().reduce((a, b) => (apart(b) < apart(a) ? b : a)));
}

function press(event) {
  const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (event.key === "Enter") goThere();
  if (!move) return;
  event.preventDefault();
  const known = points();
  const at = known.findIndex(({ dataset }) => dataset.value === (read ?? plot.firstElementChild.dataset.present));
  readOut(known[Math.min(Math.max(at + move, 0), known.length - 1)]);
}

/** Moves the setting to the point that is read. */
function goThere() {
  if (read === null) return;
  const { along } = plot.firstElementChild.dataset;
  element(along).value = read;
  ask(along);
}

form.addEventListener("input", ({ target }) => {
  const size = target.id.replace("-slider", "");
  if (target.type === "range") element(size).value = steps(target)[target.value];
  ask(size);
});
form.addEventListener("submit", (event) => event.preventDefault());
element("along").addEventListener("input", ask);
plot.addEventListener("pointermove", pointAt);
plot.addEventListener("pointerleave", () => readOut());
plot.addEventListener("blur", () => readOut());
plot.addEventListener("click", goThere);
plot.addEventListener("keydown", press);
addEventListener("resize", () => later("resize", ask));
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(element(button.dataset.copy).textContent);
    button.textContent = "copied";
  });
}
ask();
