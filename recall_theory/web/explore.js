// The page of `recall-theory explore`: it sends what its form holds and shows the records that come back.
const form = element("controls");
const plot = element("plot");
const page = crypto.randomUUID();
const timers = {};
let number = 0; // of the newest request
let running = new AbortController(); // of the newest request

/** Does something after a rest, unless something else comes for the same purpose. */
function later(purpose, act) {
  clearTimeout(timers[purpose]);
  timers[purpose] = setTimeout(act, 300);
}

/** Asks about what the form holds, in place of the request before. `moved` is the control that changed. */
async function ask(moved) {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  element("mlp-sizes").hidden = element("mlp-sizes").disabled = !element("mlp").checked;
  element("along").lastElementChild.disabled = !element("mlp").checked;
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
      if (record.kind === "problems") later("problems", () => place(record)); // typing may yet make it right
      else place(record);
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

/** Puts what the server has written into its places: the sections around them are up to date then. */
function place({ html, setting, model, ratio, words, along }) {
  const { value } = chosen?.dataset ?? {};
  for (const [id, text] of Object.entries(html)) {
    element(id).innerHTML = text;
    if (id !== "status") element(id).closest(".result")?.classList.remove("stale");
    if (id.endsWith("-problem")) element(id.replace("-problem", "")).ariaInvalid = text !== "";
  }
  if (ratio) showSetting(setting, model, ratio);
  if (words) later("announcement", () => { element("announcement").textContent = words; });
  if (along) element("along").value = along;
  if (html.plot) choose(points().find((point) => point.dataset.value === value) ?? null);
}

function showSetting(setting, model, ratio) {
  element("hold").value = ratio;
  if (element("hold").checked && document.activeElement !== element("N")) element("N").value = setting.N;
  for (const group of document.querySelectorAll("[data-model]")) group.hidden = group.dataset.model !== model;
  for (const slider of form.querySelectorAll("[data-size]")) {
    const size = setting[slider.dataset.size];
    if (size && slider !== document.activeElement) slider.value = 4 * Math.log2(size);
    if (size) slider.ariaValueText = size.toLocaleString("en-US");
  }
}

const points = () => [...plot.querySelectorAll("[data-value]")];

function read(point) {
  element("readout").textContent = point?.dataset.words ?? element("readout").title;
}

/** Moves the setting to the point that is read. */
function goThere() {
  if (!chosen) return;
  element(element("along").value).value = chosen.dataset.value;
  ask(element("along").value);
}

addEventListener("input", ({ target }) => {
  const { size } = target.dataset;
  if (size) element(size).value = Math.round(2 ** (target.value / 4));
  ask(size ?? target.id);
});
form.addEventListener("submit", (event) => event.preventDefault());
plot.addEventListener("click", goThere);
plot.addEventListener("keydown", (event) => event.key === "Enter" && goThere());
addEventListener("resize", () => later("resize", () => ask("")));
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(element(button.dataset.copy).textContent);
    button.textContent = "copied";
  });
}
readable(plot, points, Infinity);
read(null);
ask("");
