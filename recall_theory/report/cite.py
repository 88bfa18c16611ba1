"""What to cite, as BibTeX."""

from __future__ import annotations

from .. import __version__
from .answer import Answer, Verbatim

REFERENCES: tuple[dict[str, str], ...] = (
    {
        "type": "inproceedings", "key": "vural2026learning",
        "title": "Learning to Recall with Transformers Beyond Orthogonal Embeddings",
        "author": "Vural and Bietti and Soltanolkotabi and Wu",
        "booktitle": "International Conference on Learning Representations", "year": "2026",
        "eprint": "2603.15923", "archivePrefix": "arXiv",
    },
    {
        "type": "article", "key": "ravfogel2026geometric",
        "title": "Geometric Factual Recall in Transformers",
        "author": "Ravfogel and Yehudai and Bruna and Bietti", "year": "2026",
        "eprint": "2605.12426", "archivePrefix": "arXiv",
    },
    {
        "type": "software", "key": "recall_theory", "title": "recall-theory",
        "author": "{The recall-theory authors}", "version": __version__,
    },
)


def bibtex(reference: dict[str, str]) -> str:
    """One entry.

    >>> bibtex(REFERENCES[1]).splitlines()[0]
    '@article{ravfogel2026geometric,'
    """
    fields = [f"  {name} = {{{value}}}," for name, value in reference.items() if name not in ("type", "key")]
    return "\n".join([f"@{reference['type']}{{{reference['key']},", *fields, "}"])


def answer() -> Answer:
    """The references in their three forms."""
    records = [dict(r) for r in REFERENCES]
    return Answer({"schema_version": 1, "references": records}, records,
                  [Verbatim("\n\n".join(bibtex(r) for r in REFERENCES))])
