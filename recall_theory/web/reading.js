// Shared by the pages: one mark of a drawing at a time is read, by pointer, finger or keyboard.
// A page defines `read(mark)`, which shows what a mark says; null is for none.
"use strict";

const MOVES = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };
const element = (id) => document.getElementById(id);
let chosen = null; // the mark that is read

function choose(mark) {
  if (mark === chosen) return;
  chosen?.classList.remove("chosen");
  chosen = mark;
  chosen?.classList.add("chosen");
  read(chosen);
}

/** Lets the marks of a drawing be read. `marks()` are in the order of the arrow keys, which begin at
 * that of class "start"; a pointer finds the nearest one within `reach` pixels. */
function readable(drawing, marks, reach) {
  function point({ clientX, clientY }) {
    let [nearest, least] = [null, reach];
    for (const mark of marks()) {
      const box = mark.getBoundingClientRect();
      const far = Math.hypot(box.x + box.width / 2 - clientX, box.y + box.height / 2 - clientY);
      if (far < least) [nearest, least] = [mark, far];
    }
    choose(nearest);
  }

  function press(event) {
    const all = marks();
    const at = all.indexOf(chosen ?? all.find((mark) => mark.matches(".start")));
    const move = MOVES[event.key];
    if (event.key === "Escape") choose(null);
    if (!move || !all.length) return;
    event.preventDefault();
    choose(all[Math.min(Math.max(at + move, 0), all.length - 1)]);
  }

  drawing.addEventListener("pointermove", point);
  drawing.addEventListener("pointerdown", point);
  drawing.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && choose(null));
  drawing.addEventListener("blur", () => choose(null));
  drawing.addEventListener("keydown", press);
}
