// The page of `recall-theory explore`: it sends what its form holds and shows the records that come back.
"use strict";

const element = (id) => document.getElementById(id);
const form = element("controls");
const plot = element("plot");
const page = crypto.randomUUID();
const timers = {};
let number = 0; // of the newest request
let running = new AbortController(); // of the newest request
let read = null; // the value of the size at which the curve is read

/** Does something after a rest, unless something else comes for the same purpose. */
function later(purpose, act) {
  clearTimeout(timers[purpose]);
  timers[purpose] = setTimeout(act, 300);
}

/** Asks about what the form holds, in place of the request before. `moved` is the control that was changed. */
async function ask(moved) {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  element("mlp-sizes").hidden = element("mlp-sizes").disabled = !element("mlp").checked;
  element("along").querySelector("[value=m]").disabled = !element("mlp").checked;
  document.body.setAttribute("aria-busy", "true");
  grey("Calculating ...");
  later("problems", () => {});
  later("address", () => history.replaceState(null, "", `/?${new URLSearchParams(new FormData(form))}`));
  number += 1;
  const more = { page, number, moved, width: plot.clientWidth };
  const query = new URLSearchParams([...new FormData(form), ...Object.entries(more)]);
  try {
    const response = await fetch(`/answers?${query}`, { signal, headers: { "X-Token": form.dataset.token } });
    if (!response.ok) throw new Error(await response.text());
    for await (const record of lines(response.body)) {
      if (signal.aborted) return;
      show[record.kind](record);
    }
    document.body.setAttribute("aria-busy", "false");
  } catch (error) {
    if (!signal.aborted) grey(`No answer: ${error.message.trim()}. Is the program still running?`);
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

/** Puts what the server has rendered into its places; the sections around them are up to date then. */
function place(html) {
  for (const [id, text] of Object.entries(html)) {
    element(id).innerHTML = text;
    element(id).closest(".result").classList.remove("stale");
  }
}

/** What is done with a record of each kind. */
const show = {
  problems({ problems }) {
    later("problems", () => { // what is being typed may yet become right
      showProblems(problems);
      grey(`No result: see ${Object.keys(problems).join(", ")}.`);
    });
  },

  setting({ setting, ratio, model, texts }) {
    showProblems({});
    element("hold").value = ratio;
    if (element("hold").checked && document.activeElement !== element("N")) element("N").value = setting.N;
    for (const slider of form.querySelectorAll("[type=range]")) showSlider(slider, setting[slider.dataset.size]);
    for (const group of document.querySelectorAll("[data-model]")) group.hidden = group.dataset.model !== model;
    for (const [id, text] of Object.entries(texts)) element(id).textContent = text;
  },

  prediction({ html, words }) {
    place(html);
    later("announcement", () => { element("announcement").textContent = words; });
  },

  bounds({ html }) { place(html); },

  curve({ html, along, note }) {
    place(html);
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

/** Moves a slider to the step that is nearest to a value. */
function showSlider(slider, value) {
  if (value === null) return;
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
  readOut(points().sort((a, b) => apart(a) - apart(b))[0]);
}

function press(event) {
  const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (event.key === "Enter") goThere();
  if (!move) return;
  event.preventDefault();
  const at = points().findIndex(({ dataset }) => dataset.value === (read ?? plot.firstElementChild.dataset.present));
  readOut(points().at(Math.max(at + move, 0)) ?? points().at(-1));
}

/** Moves the setting to the point that is read. */
function goThere() {
  if (read === null) return;
  element(element("along").value).value = read;
  ask(element("along").value);
}

form.addEventListener("input", ({ target }) => {
  const { size } = target.dataset;
  if (size) element(size).value = steps(target)[target.value];
  ask(size ?? target.id);
});
form.addEventListener("submit", (event) => event.preventDefault());
element("along").addEventListener("input", () => ask("along"));
plot.addEventListener("pointermove", pointAt);
plot.addEventListener("pointerleave", () => readOut());
plot.addEventListener("blur", () => readOut());
plot.addEventListener("click", goThere);
plot.addEventListener("keydown", press);
addEventListener("resize", () => later("resize", () => ask("")));
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(element(button.dataset.copy).textContent);
    button.textContent = "copied";
  });
}
ask("");
