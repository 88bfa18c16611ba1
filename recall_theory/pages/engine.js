// What the page asks: a prediction and the bounds at a setting, as plain objects. The functions that compute them, and
// the declarations of the parameters, are Python's own, translated.
const makeEngine = ({predict, boundsAt, limitingTerm}) => {

  class Refused extends Error {
    constructor(parameter, message) { super(message); this.parameter = parameter; }
  }

  // A setting within the declared domains; the words are those that the library refuses with.
  const checked = (given) => {
    const setting = {eta: null, gamma: null, is_limit: true};
    for (const [name, {kind, low, high, domain, optional, choices, otherwise}] of engine.parameters) {
      const value = given[name] ?? otherwise;
      const fits = kind === "flag" ? typeof value === "boolean" : choices.length ? choices.includes(value)
        : Number.isInteger(value) && low <= value && value <= high;
      if (!fits && !(optional && value === null)) throw new Refused(name, `${name}=${value} is not ${domain}`);
      setting[name] = value;
    }
    if (setting.embedding === "orthogonal" && setting.d < setting.V) {
      throw new Refused("d", `d=${setting.d} is too small: orthogonal embeddings need d of at least V=${setting.V}`);
    }
    if (setting.m === null) setting.activation = null;
    else setting.activation ??= "relu";
    setting.ratio = setting.N / setting.V;
    return setting;
  };

  const plain = (x) => {
    if (x instanceof Map) return Object.fromEntries([...x].map(([name, value]) => [name, plain(value)]));
    if (Array.isArray(x)) return x.map(plain);
    return x !== null && typeof x === "object" ? plain(new Map(Object.entries(x))) : x;
  };

  const told = (work) => {
    try {
      return work();
    } catch (error) {
      if (error.parameter === undefined || error.parameter === null) throw error;
      return {error: {parameter: error.parameter, message: error.message}};
    }
  };

  const shown = ({V, L, d, N, m, activation, embedding, trigger_in_value}) =>
    ({V, L, d, N, m, activation, embedding, trigger_in_value});

  // {setting, predicted: {attention, recall, accuracy, std, spread}, terms: {attention, recall}, remarks,
  // limited_by}
  const prediction = (given) => told(() => {
    const setting = checked(given);
    const found = predict(setting);
    const {attention, recall, accuracy, std, spread, terms, remarks} = plain(found);
    return {setting: shown(setting), predicted: {attention, recall, accuracy, std, spread}, terms, remarks,
            limited_by: limitingTerm(found)};
  });

  // [{name, statement, strength, binds, broken_by, recall, allows, least_N, largest_V, details, ...}, ...]
  const bounds = (given) => told(() => {
    const {V, L, d, N, m, activation} = checked(given);
    return plain(boundsAt(L, d, V, N, m, activation)).bounds;
  });

  const calculate = (given) => {
    const found = prediction(given);
    return found.error ? found : {...found, bounds: bounds(given)};
  };

  return {prediction, bounds, calculate};
};
