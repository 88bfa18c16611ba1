// Runs behind the engine, in a worker: one question in, its result out.
self.onmessage = ({ data: { what, setting } }) => {
  let result;
  try {
    result = recallTheory[what](setting);
  } catch (error) {
    result = { failure: String(error) };
  }
  self.postMessage(result);
};
