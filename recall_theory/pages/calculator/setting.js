// The setting: what the controls hold, how the address keeps it, and how it reads as a command and as Python.

const SIZES = ["V", "L", "d", "N", "m"];
const OBSERVABLES = ["attention", "recall", "accuracy"];
const declared = JSON.parse(document.getElementById("declared").textContent);

/** What is typed and chosen: sizes are texts until they are read. */
function opening() {
  const start = declared.start;
  return {
    ...Object.fromEntries(SIZES.map((name) => [name, String(start[name])])),
    mlp: false, activation: start.activation, embedding: start.embedding, trigger_in_value: start.trigger_in_value,
    hold: false, along: "N",
  };
}

/** {setting, problems}: the setting that the controls stand for, and what is wrong with which of them, in words. */
function read(state) {
  const problems = {};
  const size = (name) => {
    const value = parseInteger(state[name]);
    const { low, high, domain } = declared.sizes[name];
    const fits = value !== null && low <= value && value <= high;
    if (!fits) problems[name] = `“${shortened(state[name])}” is not ${domain}`;
    return value;
  };
  const setting = { V: size("V"), L: size("L"), d: size("d"), N: size("N"), m: null, activation: null };
  if (state.mlp) Object.assign(setting, { m: size("m"), activation: state.activation });
  return { setting: { ...setting, embedding: state.embedding, trigger_in_value: state.trigger_in_value }, problems };
}

const shortened = (text) => (text.length <= 40 ? text : `${text.slice(0, 40)}...`);

/** The state as the address keeps it: the sizes, and what differs from the opening. */
function toHash(state) {
  const start = opening();
  const words = new URLSearchParams();
  for (const name of ["V", "L", "d", "N"]) words.set(name, state[name].trim());
  if (state.mlp) words.set("m", state.m.trim());
  if (state.mlp) words.set("activation", state.activation);
  if (state.embedding !== start.embedding) words.set("embedding", state.embedding);
  if (!state.trigger_in_value) words.set("trigger_in_value", "no");
  if (state.hold) words.set("hold", "yes");
  if (state.along !== start.along) words.set("along", state.along);
  return `#${words}`;
}

/** The state that an address stands for; what it doesn't name is as at the opening. */
function fromHash(hash) {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const state = opening();
  for (const name of SIZES) if (words.has(name)) state[name] = words.get(name);
  state.mlp = words.has("m");
  const chosen = (name, among) => { if (among.includes(words.get(name))) state[name] = words.get(name); };
  chosen("activation", declared.activations);
  chosen("embedding", declared.embeddings);
  chosen("along", SIZES);
  state.trigger_in_value = words.get("trigger_in_value") !== "no";
  state.hold = words.get("hold") === "yes";
  return state;
}

function asCommand(setting) {
  const words = ["recall-theory predict", ...["V", "L", "d", "N"].map((name) => `--${name} ${setting[name]}`)];
  if (setting.m !== null) words.push(`--m ${setting.m}`, `--activation ${setting.activation}`);
  if (setting.embedding !== "gaussian") words.push(`--embedding ${setting.embedding}`);
  if (!setting.trigger_in_value) words.push("--no-trigger-in-value");
  return words.join(" ");
}

function asPython(setting) {
  const words = ["V", "L", "d", "N"].map((name) => `${name}=${setting[name]}`);
  if (setting.m !== null) words.push(`m=${setting.m}`, `activation="${setting.activation}"`);
  if (setting.embedding !== "gaussian") words.push(`embedding="${setting.embedding}"`);
  if (!setting.trigger_in_value) words.push("trigger_in_value=False");
  return `from recall_theory import Setting, predict\nprint(predict(Setting(${words.join(", ")})))`;
}
