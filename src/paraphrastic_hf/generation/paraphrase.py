"""Syntactically controlled paraphrases (thesis, 6.3).

The parse generator expands a template to a full parse, given the parse of the sentence. SCPN then
writes a paraphrase with the full parse. A filter rejects paraphrases that share too few words with
the sentence or are not similar enough (6.3.3). A model without templates rewrites the sentence
freely, which is called canonicalization (4.6).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Unpack

import torch

from paraphrastic_hf.encoders.push import HubMixin
from paraphrastic_hf.encoders.storage.locate import (
    DEFAULT_PARAPHRASER,
    DEFAULT_PARSER,
    HubOptions,
    as_directory,
    check_hub_options,
    local_directory,
)
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.generation.templated import Outputs, TemplatedWriter
from paraphrastic_hf.generation.templates import (
    NONE,
    PARSE,
    Paraphrase,
    bracketed,
    check_roles,
    check_templates,
    filtered,
    first_tree,
    is_whole,
    load_templates,
    ranked,
    top_templates,
)
from paraphrastic_hf.generation.writing import GenerationOptions, listed
from paraphrastic_hf.predictors.parser import SentenceParser
from paraphrastic_hf.syntax.parse_tokens import checked_tree, parse_text
from paraphrastic_hf.syntax.parse_tree import Tree, read_tree, same_template, template
from paraphrastic_hf.syntax.parsed import LineParser, ParsedLine
from paraphrastic_hf.text.overlap import ngram_overlap

logger = logging.getLogger(__name__)

Parser = Callable[[Sequence[str]], Sequence[Tree | ParsedLine | None]]
MIN_OVERLAP, MIN_SIMILARITY = 0.5, 0.7  # thesis, 6.3.3
MOST_PARSE_TOKENS = 150
WRITING = GenerationOptions(beams=3, max_tokens=40)  # thesis
FREQUENT = 20  # templates of `best` (thesis, 6.3.3)
MIN_NATS = -1.0  # of a token, for `best`
ADDED = frozenset(("(CC", "(ADVP", "(INTJ"))  # labels of phrases that a paraphrase adds


class SyntacticParaphraser(HubMixin):
    """Generator of paraphrases with a given syntax.

    Args:
        writer: Model that writes sentences: SCPN, a stock encoder-decoder, or a paraphraser.
        generator: Parse generator, which expands templates for a writer that reads full parses.
        parser: Parser of the sentences, for the parse generator: an object with `parse`, or a
            function from sentences to trees (None for failures).
        templates: Templates in the training data with their counts, most frequent first.
        encoder: Encoder for the similarity. It needs a method `encode(texts,
            normalize_embeddings=True)`.
        most_tokens: Maximum number of tokens in a sentence, at least 1. Longer sentences are not
            paraphrased.

    Raises:
        ModelError: The writer writes parses, or the generator writes sentences.

    Example:
        >>> paraphraser = SyntacticParaphraser.from_pretrained(
        ...     "runs/scpn", generator="runs/parse-generator", parser="runs/parser"
        ... )  # doctest: +SKIP
        >>> lines = ["she drove home ."]
        >>> paraphraser.paraphrase(lines, ["(ROOT (SBARQ (ADVP) (,) (SQ)))"])  # doctest: +SKIP
    """

    def __init__(
        self,
        writer: TemplatedWriter,
        *,
        generator: TemplatedWriter | None = None,
        parser: Parser | LineParser | None = None,
        templates: dict[str, int] | None = None,
        encoder: Any = None,
        most_tokens: int = 300,
    ) -> None:
        check_roles(writer.writes, generator.writes if generator is not None else None)
        self.writer, self.generator = writer, generator
        self.parser = parser.parse if isinstance(parser, LineParser) else parser
        self.templates, self.encoder, self.most_tokens = templates or {}, encoder, most_tokens
        self._warned: set[str] = set()  # reported templates that training did not have

    @classmethod
    def from_pretrained(
        cls,
        name: str | os.PathLike[str] = DEFAULT_PARAPHRASER,
        *,
        generator: str | os.PathLike[str] | None = None,
        parser: Parser | LineParser | str | os.PathLike[str] | None = None,
        encoder: Any = None,
        device: str | torch.device | None = None,
        batch_size: int = 64,
        **hub: Unpack[HubOptions],
    ) -> SyntacticParaphraser:
        """Load models that recipes of kind `paraphrase` trained.

        Args:
            name: Directory or Hub repository of the model that writes sentences. By default the
                packaged paraphraser of English.
            generator: Directory or Hub repository of the parse generator.
            parser: Directory or Hub repository of a `SentenceParser`, or any `parser` that the
                class accepts. The packaged paraphraser has the packaged parser.
            encoder: Encoder for the similarity, or None.
            device: Device to compute on. None means a GPU if available.
            batch_size: Maximum number of paraphrases per batch, at least 1.
            **hub: `revision` for `name`, and `token`, `cache_dir` and `local_files_only` for all
                models, as in `local_directory`.
        """
        check_hub_options(hub, cls.from_pretrained)
        options: Any = {"device": device, "batch_size": batch_size}
        of_training = local_directory(as_directory(name), **hub)
        writer = TemplatedWriter.from_pretrained(of_training, **options)
        filler = None
        if generator is not None:
            hub.pop("revision", None)
            of_training = local_directory(generator, **hub)
            filler = TemplatedWriter.from_pretrained(of_training, **options)
        if parser is None and name == DEFAULT_PARAPHRASER:
            parser = DEFAULT_PARSER
        if isinstance(parser, (str, os.PathLike)):
            parser = SentenceParser.from_pretrained(str(parser), device=device)
        counts = load_templates(of_training) if writer.reads != NONE else {}
        found = cls(writer, generator=filler, parser=parser, templates=counts, encoder=encoder)
        found._directory = writer._directory
        return found

    def save_pretrained(self, directory: str | os.PathLike[str]) -> None:
        """Save the model that writes sentences, without the parse generator and the parser.

        Args:
            directory: Directory to write, created if missing.
        """
        self.writer.save_pretrained(directory)

    def top_templates(self, count: int = 20) -> list[str]:
        """Return the most frequent templates in the training data, in brackets (6.3.3).

        Args:
            count: Number of templates, at least 1.
        """
        return top_templates(self.templates, count)

    def paraphrase(
        self,
        sentences: Sequence[str],
        templates: Sequence[str] | Sequence[Sequence[str]] | None = None,
        *,
        parses: Sequence[Tree | None] | None = None,
        writing: GenerationOptions | None = None,
        min_overlap: float | None = MIN_OVERLAP,
        min_similarity: float | None = MIN_SIMILARITY,
    ) -> list[list[Paraphrase]]:
        """Write `writing.outputs` paraphrases of each sentence for each template.

        Args:
            sentences: Sentences to paraphrase.
            templates: Templates in brackets, `(ROOT (S (NP) (VP) (.)))`, or full parses. Either one
                list for all sentences, or a list for each sentence. None for a model without
                templates.
            parses: Trees of the sentences. None calls the parser.
            writing: Options of beam search or sampling. None means 3 beams and 40 tokens (thesis).
                With one output and a parser, a model that reads templates writes the first of the
                beams that has the template, or else the first.
            min_overlap: Minimum share of common words, 0 to 1. None means no limit.
            min_similarity: Minimum cosine, -1 to 1, computed by the encoder. None means no limit.

        Returns:
            The paraphrases of each sentence, in the order of the templates. If a paraphrase is
            rejected, `remark` is the reason.

        Raises:
            DataError: `min_similarity` is set without an encoder, or a template is malformed, has
                an unknown label, or does not suit the models.
        """
        lines = listed(sentences, "sentences")
        how = writing or WRITING
        asked = self._asked_of(templates, len(lines))
        if min_similarity is not None and self.encoder is None:
            raise DataError(
                "min_similarity requires an encoder. Pass encoder, or min_similarity=None"
            )
        remarks = self._unfit(lines)
        targets = self._targets(lines, asked, parses, remarks)
        sources = ["" if remark else line for line, remark in zip(lines, remarks, strict=True)]
        chooses = self.parser and templates and self.writer.reads not in (PARSE, NONE)
        if chooses and how.outputs == 1 < how.beams and not how.sample:
            outputs = self.writer.write(sources, targets, replace(how, outputs=how.beams))
            outputs = self._with_template(asked, outputs)
        else:
            outputs = self.writer.write(sources, targets, how)
        ends = self.writer.tokenizer.special.end
        found = []
        for line, remark, wishes, own, written in zip(
            lines, remarks, asked, targets, outputs, strict=True
        ):
            each = []
            for wanted, parse, candidates in zip(wishes, own, written, strict=True):
                given = Paraphrase("", wanted, bracketed(parse) if parse else "", remark=remark)
                if not remark and wanted and not parse:
                    given = replace(given, remark="the parse generator wrote no whole tree")
                if given.remark:
                    each += [given] * len(candidates)
                    continue
                for one in candidates:
                    shared = ngram_overlap(line, one.text, 1)
                    cut = len(one.ids) == how.max_tokens and one.ids[-1] not in ends
                    known = replace(given, text=one.text, nats=one.nats, overlap=shared)
                    each.append(replace(known, is_cut=cut))
            found.append(each)
        return filtered(lines, found, self.encoder, min_overlap, min_similarity)

    def best(
        self,
        sentences: Sequence[str],
        count: int = 3,
        templates: Sequence[str] | None = None,
        *,
        writing: GenerationOptions | None = None,
        **options: Any,
    ) -> list[list[Paraphrase]]:
        """Write paraphrases of each sentence with many templates, and return the best of them.

        Args:
            sentences: Sentences to paraphrase.
            count: Maximum number of paraphrases of a sentence, at least 1.
            templates: Templates in brackets. None means the 20 most frequent ones of the training
                data without a conjunction, adverb or interjection at the top, because paraphrases
                often add such a word. If the model does not need a template, None also means a
                paraphrase without template.
            writing: Options of beam search or sampling. All beams of a template are candidates,
                whatever `outputs` is. None means 3 beams and 40 tokens.
            **options: As in `paraphrase`.

        Returns:
            The paraphrases of each sentence that the filter kept, without duplicates, ranked by
            similarity plus log-probability. With a parser, they have their template. If the model
            does not need a template, `nats` are those without template, at least -1.
        """
        how = writing or WRITING
        every = how if how.sample else replace(how, outputs=how.beams)
        asked = self._steady_templates() if templates is None else list(templates)
        found = self.paraphrase(sentences, asked, writing=every, **options)
        if templates is None and not self.writer.needs_template:
            free = self.paraphrase(sentences, writing=how, **options)  # other beams are near copies
            found = [first + rest for first, rest in zip(found, free, strict=True)]
        if self.parser is not None:
            self._reject_other_templates(found)
        if not self.writer.needs_template:
            self._reject_unlikely(sentences, found)
        return [ranked(each, line)[:count] for each, line in zip(found, sentences, strict=True)]

    def canonicalise(
        self, sentences: Sequence[str], *, writing: GenerationOptions | None = None
    ) -> list[str]:
        """Rewrite each sentence without a template (thesis, 4.6).

        Args:
            sentences: Sentences to paraphrase.
            writing: Options of beam search or sampling. None means 3 beams and 40 tokens.
        """
        found = self.paraphrase(sentences, writing=writing, min_overlap=None, min_similarity=None)
        return [each[0].text for each in found]

    def check_templates(self, templates: Sequence[str]) -> None:
        """Raise an error if templates do not fit the models.

        Args:
            templates: Templates in brackets, or full parses.
        """
        self._asked(templates)

    def _with_template(self, asked: list[list[str]], outputs: Outputs) -> Outputs:
        """Keep the first of the beams whose parse has the template, or the first if none has it."""
        assert self.parser is not None
        texts = [one.text for own in outputs for beams in own for one in beams if one.text]
        tree_of = dict(zip(texts, map(_tree_of, self.parser(texts)), strict=True))
        found: Outputs = []
        for wishes, own in zip(asked, outputs, strict=True):
            found.append([])
            for wanted, beams in zip(wishes, own, strict=True):
                tree = read_tree(wanted) if wanted else None
                fits = (one for one in beams if _has_template(tree_of.get(one.text), tree))
                found[-1].append([next(fits, beams[0])])
        return found

    def _reject_other_templates(self, found: list[list[Paraphrase]]) -> None:
        """Reject the paraphrases whose parse does not have the requested template."""
        assert self.parser is not None
        places = [place for place in _kept(found) if found[place[0]][place[1]].template]
        parsed = self.parser([found[row][k].text for row, k in places])
        for (row, k), each in zip(places, parsed, strict=True):
            one = found[row][k]
            if not _has_template(_tree_of(each), read_tree(one.template)):
                found[row][k] = replace(one, remark="it does not have the template")

    def _reject_unlikely(self, lines: Sequence[str], found: list[list[Paraphrase]]) -> None:
        """Score paraphrases by their log-probability without template, and reject unlikely ones."""
        places = _kept(found)
        texts = [found[row][k].text for row, k in places]
        nats = self.writer.free_likelihoods([lines[row] for row, _ in places], texts)
        for (row, k), value in zip(places, nats, strict=True):
            remark = f"its log-probability is {value:.2f}" if value < MIN_NATS else ""
            found[row][k] = replace(found[row][k], nats=value, remark=remark)

    def _steady_templates(self) -> list[str]:
        kept = {text: n for text, n in self.templates.items() if not ADDED & {*text.split()}}
        return top_templates(kept, FREQUENT)

    def _asked_of(
        self, templates: Sequence[str] | Sequence[Sequence[str]] | None, count: int
    ) -> list[list[str]]:
        """Check the templates. Return the templates of each sentence, in brackets."""
        lists = [each for each in templates or () if not isinstance(each, str)]
        if not lists:
            return [self._asked(templates)] * count  # type: ignore[arg-type]
        if len(lists) != len(templates or ()) or len(lists) != count:
            raise DataError(
                "templates must be one list for all sentences or a list for each, got "
                f"{counted(count, 'sentence')} and {counted(len(lists), 'list')} of templates"
            )
        return [self._asked(each) for each in lists]

    def _asked(self, templates: Sequence[str] | None) -> list[str]:
        given = templates or ()
        if given or self.writer.needs_template:
            check_templates(given, self.writer.reads, has_generator=self.generator is not None)
        if not given:
            return [""]
        asked = []
        for text in given:
            tree = checked_tree(text)
            cut = parse_text(template(tree))
            if self.templates and cut not in self.templates and cut not in self._warned:
                self._warned.add(cut)
                logger.warning(
                    "The template %s does not occur in the training data, so expect poor "
                    "paraphrases",
                    bracketed(cut),
                )
            asked.append(bracketed(parse_text(tree) if self.writer.reads == PARSE else cut))
        return asked

    def _unfit(self, lines: Sequence[str]) -> list[str]:
        """Return the reason why each sentence cannot be paraphrased, or an empty string."""
        remarks = []
        for line, count in zip(lines, self.writer.count_tokens(lines), strict=True):
            if not line.strip():
                remarks.append("the line is blank")
            elif not count:
                remarks.append("the sentence has no known token")
            elif count > self.most_tokens:
                remarks.append(f"the sentence has {count} tokens, more than {self.most_tokens}")
            else:
                remarks.append("")
        return remarks

    def _targets(
        self,
        lines: Sequence[str],
        asked: Sequence[Sequence[str]],
        parses: Sequence[Tree | None] | None,
        remarks: list[str],
    ) -> list[list[str]]:
        """Return the templates or full parses (empty on failure) that the writer reads."""
        trees = [[parse_text(checked_tree(text)) if text else "" for text in own] for own in asked]
        wanted = [[text for text in own if self._is_filled(text)] for own in trees]
        if not any(wanted):
            return trees
        assert self.generator is not None
        sources = self._parsed(lines, parses, remarks)
        how = GenerationOptions(beams=3, outputs=3, max_tokens=MOST_PARSE_TOKENS)
        written = self.generator.write(sources, wanted, how, scores=False)
        filled = (
            first_tree([one.text for one in outputs], text)
            for own, every in zip(wanted, written, strict=True)
            for text, outputs in zip(own, every, strict=True)
        )
        return [[next(filled) if self._is_filled(text) else text for text in own] for own in trees]

    def _is_filled(self, text: str) -> bool:
        """Return whether the parse generator must expand this template to a full parse."""
        if self.generator is None or self.writer.reads != PARSE or not text:
            return False
        return not is_whole(read_tree(text))

    def _parsed(
        self, lines: Sequence[str], parses: Sequence[Tree | None] | None, remarks: list[str]
    ) -> list[str]:
        """Return the parse of each sentence. Without a parse it is empty, and a remark is set."""
        if parses is None:
            if self.parser is None:
                raise DataError(
                    "The parse generator requires the parse of each sentence. Pass a parser or "
                    "trees"
                )
            fit = [number for number, remark in enumerate(remarks) if not remark]
            parses = [None] * len(lines)
            for number, found in zip(fit, self.parser([lines[n] for n in fit]), strict=True):
                parses[number] = _tree_of(found)
        elif len(parses) != len(lines):
            got = f"{counted(len(lines), 'sentence')} and {counted(len(parses), 'tree')}"
            raise DataError(f"Each sentence must have one tree, got {got}")
        sources = []
        for number, tree in enumerate(parses):
            try:
                text = "" if tree is None else parse_text(checked_tree(str(tree)))
            except DataError:
                text = ""
            if not text and not remarks[number]:
                remarks[number] = "the sentence could not be parsed"
            sources.append("" if remarks[number] else text)
        return sources


def _kept(found: list[list[Paraphrase]]) -> list[tuple[int, int]]:
    """Return the places of the kept paraphrases: sentence, and number within the sentence."""
    return [(row, k) for row, each in enumerate(found) for k, one in enumerate(each) if one.is_kept]


def _has_template(tree: Tree | None, wanted: Tree | None) -> bool:
    return tree is not None and wanted is not None and same_template(tree, wanted)


def _tree_of(found: Tree | ParsedLine | None) -> Tree | None:
    if isinstance(found, ParsedLine):
        return None if found.problem else found.tree
    return found
