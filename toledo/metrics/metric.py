"""The base of all metrics: statistics of segments that add up, and a score of their sum.

Scores are in per cent, as sacreBLEU prints them, with its settings and its signatures. A text is a `str`, which the
metric prepares as its settings say, or a sequence of words (or an array of word ids), which is taken as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from toledo.errors import InputError
from toledo.metrics.score import Score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from toledo.compiled.ragged import Sequences, Words
    from toledo.metrics.references import Counter
    from toledo.text.vocabulary import Vocabulary

    Rows: TypeAlias = NDArray[np.float64]
    Text: TypeAlias = str | Words

Triple: TypeAlias = tuple[str, str, str | None]  # hypothesis, reference, source


class Metric:
    """Base of metrics: subclasses count statistics, turn sums of them into scores, and know sacreBLEU's twin."""

    higher_is_better: bool = True
    needs: frozenset[str] = frozenset({"references"})
    in_per_cent: bool = True  # from 0 to 100 as a rule; otherwise on any scale
    decimals: int = 2  # to print

    @property
    def compares_symbols(self) -> bool:
        """Whether the metric has `gains` of its own, so that it need not ask for pairs of texts."""
        return type(self).gains is not Metric.gains

    @property
    def name(self) -> str:
        """The usual name."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Number of statistics of a segment."""
        raise NotImplementedError

    def corpus_statistics(
        self,
        hypotheses: Sequence[Any],
        references: Sequence[Sequence[Any]],
        threads: int | None = None,
        sources: Sequence[str] | None = None,
    ) -> Rows:
        """Return the statistics of each segment, one row each; `references[i]` are the references of hypothesis i."""
        raise NotImplementedError

    def scores(self, statistics: Rows) -> Rows:
        """Return the score of each row of statistics, which may be fractional."""
        raise NotImplementedError

    def gradient(self, statistics: Rows) -> Rows:
        """Return the derivatives of the score by the statistics."""
        raise NotImplementedError

    def details(self, statistics: Rows) -> dict[str, Any]:
        """Return what else is known of a score, by sacreBLEU's names."""
        return {}

    def statistics(self, hypothesis: Text, references: Sequence[Text]) -> Rows:
        """Return the statistics of one segment."""
        row: Rows = self.corpus_statistics([hypothesis], [references], threads=1)[0]
        return row

    def score(self, statistics: Rows) -> float:
        """Return the score of a sum of statistics."""
        return float(self.scores(statistics[None])[0])

    def prepare(self, references: Sequence[Sequence[Sequence[str]]], vocabulary: Vocabulary) -> Counter:
        """Return a counter of statistics for many hypotheses of these references, given as ids of a vocabulary."""
        from toledo.metrics.references import TextStatistics

        return TextStatistics(self, references, vocabulary)

    def corpus_score(
        self, hypotheses: Iterable[str], references: Any = None, sources: Iterable[str] | None = None
    ) -> Score:
        """Score a corpus; references are per set as in sacreBLEU, or per segment if only that fits."""
        rows, groups = self._rows(hypotheses, references, sources)
        return self.score_of(rows.sum(axis=0), groups)

    def sentence_score(
        self, hypothesis: str, references: str | Sequence[str] | None = None, source: str | None = None
    ) -> Score:
        """Score one text."""
        group = [references] if isinstance(references, str) else list(references or ())
        rows = self.corpus_statistics([hypothesis], [group], 1, None if source is None else [source])
        return self.score_of(rows[0], [group])

    def sentence_scores(
        self, hypotheses: Iterable[str], references: Any = None, sources: Iterable[str] | None = None
    ) -> Rows:
        """Return the score of each text."""
        return self.scores(self._rows(hypotheses, references, sources)[0])

    def pairwise_scores(self, hypotheses: Sequence[str], references: Sequence[str], source: str | None = None) -> Rows:
        """Return the score of each hypothesis (row) with each reference (column) as its only one."""
        pairs = [(said, meant) for said in hypotheses for meant in references]
        sources = None if source is None else [source] * len(pairs)
        rows = self.corpus_statistics([said for said, _ in pairs], [[meant] for _, meant in pairs], 1, sources)
        return self.scores(rows).reshape(len(hypotheses), len(references))

    def pair_scores(self, triples: Sequence[Triple]) -> Rows:
        """Return the score of each hypothesis with a reference as its only one; equal triples are compared once."""
        import numpy as np

        distinct = list(dict.fromkeys(triples))
        texts, references = [said for said, _, _ in distinct], [[meant] for _, meant, _ in distinct]
        sources = [source for _, _, source in distinct if source is not None]
        scores = self.scores(self.corpus_statistics(texts, references, 1, sources or None))
        known = dict(zip(distinct, scores.tolist(), strict=True))
        return np.array([known[triple] for triple in triples])

    def expected_scores(
        self,
        hypotheses: Sequence[str],
        references: Sequence[str],
        source: str | None = None,
        weights: ArrayLike | None = None,
    ) -> Rows:
        """Return the expected score of each hypothesis if each reference is right with a probability ∝ its weight.

        TER above 100 counts as 100: otherwise one very short reference would outweigh all others.
        """
        import numpy as np

        given = np.ones(len(references)) if weights is None else np.asarray(weights, np.float64)
        shares = given / given.sum()
        texts = self.encode([*hypotheses, *references])
        if texts is None:
            matrix = self.pairwise_scores(hypotheses, references, source)
            return np.asarray(np.einsum("ij,j->i", matrix, shares), np.float64)
        from toledo.metrics.expected import expected_gains, split_sequences

        gains = expected_gains(*split_sequences(texts, len(hypotheses)), shares, self)
        return gains if self.higher_is_better else 100.0 - gains

    def encode_ahead(self, texts: Sequence[str]) -> None:
        """Prepare for texts of several segments that will be compared soon; most metrics need not."""

    def encode(self, texts: Sequence[str]) -> Sequences | None:
        """Return texts as symbols for `gains`; None if the metric can only compare pair by pair."""
        return None

    def encode_words(self, texts: Sequences, vocabulary: Vocabulary) -> Sequences:
        """Return texts of word ids as symbols for `gains`."""
        return texts

    def gains(self, texts: Sequences, hypotheses: int, probabilities: Rows, *, only_best: bool = False) -> Rows:
        """Return the expected gain of the first texts; `probabilities[t]` is that of text t, 0 if not a reference.

        Texts are distinct. A gain is higher for better texts: 100 minus the score of an error rate, at least 0. With
        `only_best`, −inf may stand for the gain of a text that cannot be the best.
        """
        raise InputError(f"metric {self.name!r} does not compare words", remedy="use bleu, chrf or ter")

    def get_signature(self, num_refs: int | None = None, **more: int) -> str:
        """Return sacreBLEU's signature: of the last score, or for a number of references (−1: it varies)."""
        number = self.__dict__.get("_num_refs", 1) if num_refs is None else num_refs
        twin = self.twin()
        if twin is None:
            parts = {"metric": self.name, "nrefs": "var" if number < 0 else number, **more}
            return "|".join(f"{key}:{value}" for key, value in parts.items())
        twin.num_refs = number
        signature = twin.get_signature()
        for key, value in more.items():
            signature.update(key, value)
        return str(signature.format())

    def twin(self) -> Any:
        """Return sacreBLEU's object with the same settings; None if there is none."""
        return None

    def score_of(self, statistics: Rows, groups: Sequence[Sequence[object]]) -> Score:
        """Return the score of a sum of statistics, with its details and signature."""
        self.__dict__["_num_refs"] = number = number_of_references(groups)  # sacreBLEU remembers it, too
        signature, details = self.get_signature(number), self.details(statistics)
        return Score(self.name, self.score(statistics), None, details, signature, self.higher_is_better, self.decimals)

    def _rows(
        self, hypotheses: Iterable[str], references: Any, sources: Iterable[str] | None
    ) -> tuple[Rows, list[tuple[str, ...]]]:
        """Return the statistics of texts, and the references of each."""
        from toledo.metrics.shapes import read_references

        require_inputs(self, references, True)
        texts, given = list(hypotheses), None if sources is None else list(sources)
        groups: list[tuple[str, ...]] = [()] * len(texts)
        if references is not None:
            groups = read_references(references, len(texts), square="per set")
        return self.corpus_statistics(texts, groups, sources=given), groups


def require_inputs(metric: Metric, references: object, sources: object) -> None:
    """Refuse to score without references or sources (None) if the metric needs them."""
    for kind, given in (("references", references), ("sources", sources)):
        if kind in metric.needs and given is None:
            name = metric.name if kind == "references" else repr(metric.name)
            raise InputError(f"metric {name} needs {kind}", argument=kind, remedy=f"give `{kind}`")


def number_of_references(groups: Sequence[Sequence[object]]) -> int:
    """Return how many references each segment has, −1 if the number varies."""
    counts = {len(group) for group in groups}
    return counts.pop() if len(counts) == 1 else -1
