// The engine in a worker of its own: the page stays responsive, and the newest question is the next one answered.

const PATIENCE = 400; // ms that a calculation may go on once nobody waits for it

const source = URL.createObjectURL(new Blob(
  ["engine", "worker"].map((id) => `${JSON.parse(document.getElementById(id).textContent)}\n`),
  { type: "text/javascript" },
));

class Engine {
  #what;
  #worker = null;
  #running = null; // {reply, since}
  #waiting = null; // {setting, reply}
  #timer = 0;

  /** `what` is calculated: "calculate" is all there is to say of a setting, "prediction" leaves the bounds out. */
  constructor(what) {
    this.#what = what;
  }

  /** Calculates a setting; of several that wait, the newest alone is. `reply` gets the result once. */
  ask(setting, reply) {
    this.#waiting = { setting, reply };
    if (this.#running) this.#hurry();
    else this.#next();
  }

  /** Forgets what waits and what runs: no reply comes any more. */
  forget() {
    this.#waiting = null;
    if (!this.#running) return;
    this.#running.reply = () => {};
    this.#hurry();
  }

  /** What runs is no longer wanted: it may end by itself for a while, since a warm worker is a quick one. */
  #hurry() {
    const left = PATIENCE - (performance.now() - this.#running.since);
    this.#timer ||= setTimeout(() => this.#giveUp(), Math.max(0, left));
  }

  #next() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#running = null;
    if (!this.#waiting) return;
    const { setting, reply } = this.#waiting;
    this.#waiting = null;
    this.#worker ??= this.#start();
    this.#running = { reply, since: performance.now() };
    this.#worker.postMessage({ what: this.#what, setting });
  }

  #giveUp() {
    this.#stop();
    this.#next();
  }

  #start() {
    const worker = new Worker(source);
    worker.onmessage = ({ data }) => this.#done(data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.#stop();
      this.#done({ failure: event.message || "the engine did not start" });
    };
    return worker;
  }

  #stop() {
    this.#worker?.terminate(); // a worker that was stopped says nothing more
    this.#worker = null;
  }

  #done(result) {
    const { reply } = this.#running;
    this.#next();
    reply(result);
  }
}
