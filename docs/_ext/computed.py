"""A directive that runs Python while the page is built and shows what it prints, read as Markdown.

    ```{computed}
    from recall_theory import Setting, predict
    print(f"recall is {predict(Setting(V=256, L=16, d=128, N=16384)).recall:.3f}")
    ```

So no page holds a result that somebody typed. Blocks of one page share their names; `table(head, rows)`,
`conf_dir`, the folder of conf.py, and `out_dir`, that of the built pages, are there in each of them. An error in a
block is an error of the build.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def table(head: list[str], rows: list[list[Any]]) -> None:
    """Print a Markdown table. `ValueError` for a row of another length, or a cell with a bar, which ends a cell."""
    for row in (head, *rows):
        if len(row) != len(head) or any("|" in str(cell).replace(r"\|", "") for cell in row):
            raise ValueError(f"not a row of a table with {len(head)} columns: {row}")
    for row in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(str(cell) for cell in row) + " |")


class Computed(SphinxDirective):
    has_content = True

    def run(self) -> list[nodes.Node]:
        names = self.env.temp_data.setdefault("computed", {
            "table": table, "conf_dir": str(self.env.app.confdir), "out_dir": str(self.env.app.outdir),
            "__name__": "computed"})
        source, line = self.get_source_info()
        code = compile("\n" * line + "\n".join(self.content), source, "exec")
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(code, names)
        except Exception as error:
            raise self.error(f"the computed block failed: {error!r}") from error
        container = nodes.container()
        lines = StringList(printed.getvalue().splitlines(), source=source)
        self.state.nested_parse(lines, self.content_offset, container)
        return list(container.children)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("computed", Computed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
