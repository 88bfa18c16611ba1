// The controls: sliders over quarters of a doubling, beside boxes that take any whole number.

const element = (id) => document.getElementById(id);

/** The values of a slider: 2^(k/4), rounded, each once. */
function steps(low, high) {
  const values = new Set();
  for (let k = 0; 2 ** (k / 4) <= high; k += 1) values.add(Math.max(low, Math.round(2 ** (k / 4))));
  return [...values];
}

const STEPS = Object.fromEntries(Object.entries(declared.sizes).map(([name, { low, end }]) => [name, steps(low, end)]));

/** The place on a slider that is nearest to a value. */
function nearest(values, value) {
  const above = values.findIndex((v) => v >= value);
  if (above <= 0) return above < 0 ? values.length - 1 : 0;
  return value / values[above - 1] < values[above] / value ? above - 1 : above;
}

/** Keeps the controls and `state` alike; `changed()` is called after each change by hand. */
function control(state, changed) {
  for (const [name, choices] of [["activation", declared.activations], ["embedding", declared.embeddings]]) {
    element(name).append(...choices.map((choice) => new Option(choice)));
    element(name).addEventListener("change", () => { state[name] = element(name).value; changed(); });
  }
  let ratio = null; // N/V while it is held

  const hold = () => {
    const { setting, problems } = read(state);
    ratio = state.hold && !problems.V && !problems.N ? setting.N / setting.V : null;
  };
  const follow = () => {
    const V = parseInteger(state.V);
    if (ratio === null || V === null) return;
    state.N = String(Math.max(declared.sizes.N.low, Math.round(ratio * V)));
    showSize(state, "N");
  };
  const resized = (name) => {
    if (name === "V") follow();
    if (name === "N") hold();
    changed();
  };

  for (const name of SIZES) {
    const slider = element(`${name}-slider`);
    slider.max = STEPS[name].length - 1;
    slider.addEventListener("input", () => {
      state[name] = String(STEPS[name][slider.value]);
      showSize(state, name);
      resized(name);
    });
    const box = element(name);
    const typed = (settled) => {
      if (box.value === state[name]) return;
      const before = state[name];
      state[name] = box.value;
      // While one types, "1" on the way to "1e6" counts, and "1e" waits for its end.
      if (!settled && read({ ...state, mlp: state.mlp || name === "m" }).problems[name]) {
        state[name] = before;
        return;
      }
      showSlider(state, name);
      resized(name);
    };
    box.addEventListener("input", () => typed(false));
    box.addEventListener("change", () => typed(true));
  }
  for (const name of ["hold", "mlp", "trigger_in_value"]) {
    element(name).addEventListener("change", () => {
      state[name] = element(name).checked;
      if (name === "hold") hold();
      changed();
    });
  }
  element("controls").addEventListener("submit", (event) => event.preventDefault());
  hold();
  return { hold };
}

function showSize(state, name) {
  if (element(name).value !== state[name]) element(name).value = state[name];
  showSlider(state, name);
}

function showSlider(state, name) {
  const value = parseInteger(state[name]);
  if (value === null) return;
  const slider = element(`${name}-slider`);
  slider.value = nearest(STEPS[name], value);
  slider.setAttribute("aria-valuetext", count(value));
}

/** Every control as the state has it. */
function showControls(state) {
  for (const name of SIZES) showSize(state, name);
  for (const name of ["hold", "mlp", "trigger_in_value"]) element(name).checked = state[name];
  for (const name of ["activation", "embedding", "along"]) element(name).value = state[name];
}

/** What is wrong, beside the control that it is about. */
function showProblems(problems) {
  for (const name of [...SIZES, "activation", "embedding"]) {
    element(`${name}-problem`).textContent = problems[name] ?? "";
    element(name).setAttribute("aria-invalid", String(name in problems));
  }
}
