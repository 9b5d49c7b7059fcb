"""Paraphrases to order (thesis, 6.3): a sentence and templates to paraphrases of that syntax.

The parse generator fills each template from the parse of the sentence, SCPN writes a paraphrase
with that parse, and what shares too few words with the sentence, or means something else, is
filtered (6.3.3). Without a template the sentence is written anew: canonicalizing (4.6).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Unpack

import torch

from paraphrastic_hf.encoders.push import HubMixin
from paraphrastic_hf.encoders.storage.locate import HubOptions, check_hub_options, local_directory
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.generation.paraphrase_filter import (
    Paraphrase,
    bracketed,
    filtered,
    first_tree,
)
from paraphrastic_hf.generation.templated import TemplatedWriter
from paraphrastic_hf.generation.templates import (
    NONE,
    PARSE,
    check_roles,
    check_templates,
    is_whole,
    load_templates,
    top_templates,
)
from paraphrastic_hf.generation.writing import GenerationOptions, listed
from paraphrastic_hf.predictors.parser import SentenceParser
from paraphrastic_hf.syntax.parse_tokens import checked_tree, parse_text
from paraphrastic_hf.syntax.parse_tree import Tree, read_tree, template
from paraphrastic_hf.syntax.parsed import LineParser, ParsedLine
from paraphrastic_hf.text.overlap import ngram_overlap

logger = logging.getLogger(__name__)

Parser = Callable[[Sequence[str]], Sequence[Tree | ParsedLine | None]]
MIN_OVERLAP, MIN_SIMILARITY = 0.5, 0.7  # thesis, 6.3.3
MOST_PARSE_TOKENS = 150


class SyntacticParaphraser(HubMixin):
    """Writes paraphrases of a given syntax.

    Args:
        writer: What writes sentences: SCPN, a stock model trained so, or a paraphraser.
        generator: What fills templates for a writer that reads whole parses.
        parser: What parses sentences for the parse generator: a parser, whose `parse` is asked, or
            a function from sentences to their trees, None where a sentence has none.
        templates: Templates of training with their counts, the most frequent first.
        encoder: For the similarity; gives vectors by `encode(texts, normalize_embeddings=True)`.
        most_tokens: A sentence of more tokens is not paraphrased, at least 1.

    Raises:
        ModelError: The writer writes parses, or the generator sentences.

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
        self._told: set[str] = set()  # templates of which it was said that no sentence had them

    @classmethod
    def from_pretrained(
        cls,
        name: str | os.PathLike[str],
        *,
        generator: str | os.PathLike[str] | None = None,
        parser: Parser | LineParser | str | os.PathLike[str] | None = None,
        encoder: Any = None,
        device: str | torch.device | None = None,
        batch_size: int = 64,
        **hub: Unpack[HubOptions],
    ) -> SyntacticParaphraser:
        """Load what recipes of kind paraphrase made.

        Args:
            name: Directory or Hub repository of the model that writes sentences.
            generator: That of the parse generator.
            parser: Directory or Hub repository of a `SentenceParser`, or what the class takes.
            encoder: For the similarity; None for none.
            device: Where to compute; a GPU if there is one, if None.
            batch_size: The most paraphrases searched for at a time, at least 1.
            **hub: `revision`, which is that of `name`, and `token`, `cache_dir` and
                `local_files_only` of both, as `local_directory` takes them.

        Raises:
            ModelError: A model is not there, damaged, of another kind or of another release.
            TypeError: There is no option of a name.
            ValueError: There is no such device.
        """
        check_hub_options(hub, cls.from_pretrained)
        options: Any = {"device": device, "batch_size": batch_size}
        of_training = local_directory(name, **hub)
        writer = TemplatedWriter.from_pretrained(of_training, **options)
        filler = None
        if generator is not None:
            hub.pop("revision", None)
            of_training = local_directory(generator, **hub)
            filler = TemplatedWriter.from_pretrained(of_training, **options)
        if isinstance(parser, (str, os.PathLike)):
            parser = SentenceParser.from_pretrained(str(parser), device=device)
        counts = load_templates(of_training) if writer.reads != NONE else {}
        found = cls(writer, generator=filler, parser=parser, templates=counts, encoder=encoder)
        found._directory = writer._directory
        return found

    def save_pretrained(self, directory: str | os.PathLike[str]) -> None:
        """Write the model that writes sentences; the parse generator, which is a
        `TemplatedWriter`, and the parser are saved on their own.

        Args:
            directory: Where to write; made if need be.

        Raises:
            OSError: The disk is full or the directory cannot be written.
        """
        self.writer.save_pretrained(directory)

    def top_templates(self, count: int = 20) -> list[str]:
        """The most frequent templates of training, in brackets (6.3.3).

        Args:
            count: How many, at least 1.

        Raises:
            DataError: The model has none.
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
        """Paraphrases of sentences, one for each template and each of `writing.outputs`.

        Args:
            sentences: The sentences.
            templates: Templates in brackets, `(ROOT (S (NP) (VP) (.)))`, or whole parses, for all
                sentences; or a list of them for each sentence; None for none, of a model that reads
                none.
            parses: The trees of the sentences, where they are known; asked of the parser if None.
            writing: How to search or sample; three beams and at most 40 tokens if None (thesis).
            min_overlap: Least share of words that is kept, 0 to 1; None keeps all.
            min_similarity: Least cosine that is kept, -1 to 1; None keeps all. It needs an encoder.

        Returns:
            For each sentence its paraphrases in the order of the templates; those that are not kept
            say why in `remark`.

        Raises:
            TypeError: `sentences` is no list of strings.
            DataError: A template is no tree, has an unknown label, or does not go with the models.
        """
        lines = listed(sentences, "sentences")
        how = writing or GenerationOptions(beams=3, max_tokens=40)
        asked = self._asked_of(templates, len(lines))
        if min_similarity is not None and self.encoder is None:
            raise DataError("min_similarity needs an encoder: give one, or None to keep all")
        remarks = self._unfit(lines)
        targets = self._targets(lines, asked, parses, remarks)
        sources = ["" if remark else line for line, remark in zip(lines, remarks, strict=True)]
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

    def canonicalise(
        self, sentences: Sequence[str], *, writing: GenerationOptions | None = None
    ) -> list[str]:
        """Each sentence written anew, without a template (thesis, 4.6).

        Args:
            sentences: The sentences.
            writing: How to search or sample; three beams and at most 40 tokens if None.

        Raises:
            DataError: The model needs a template.
        """
        found = self.paraphrase(sentences, writing=writing, min_overlap=None, min_similarity=None)
        return [each[0].text for each in found]

    def check_templates(self, templates: Sequence[str]) -> None:
        """Refuse templates that the models cannot write by.

        Args:
            templates: Templates in brackets, or whole parses.

        Raises:
            DataError: One is no tree, has an unknown label, or does not go with the models.
        """
        self._asked(templates)

    def _asked_of(
        self, templates: Sequence[str] | Sequence[Sequence[str]] | None, count: int
    ) -> list[list[str]]:
        """The templates of each of `count` sentences, checked, in brackets."""
        lists = [each for each in templates or () if not isinstance(each, str)]
        if not lists:
            return [self._asked(templates)] * count  # type: ignore[arg-type]
        if len(lists) != len(templates or ()) or len(lists) != count:
            raise DataError(
                "give the same templates for all sentences, or a list of them for each: got "
                f"{counted(count, 'sentence')} and {counted(len(lists), 'list')} of templates"
            )
        return [self._asked(each) for each in lists]

    def _asked(self, templates: Sequence[str] | None) -> list[str]:
        """The templates, checked, in brackets."""
        check_templates(
            templates or (), self.writer.reads, has_generator=self.generator is not None
        )
        if not templates:
            return [""]
        asked = []
        for text in templates:
            tree = checked_tree(text)
            cut = parse_text(template(tree))
            if self.templates and cut not in self.templates and cut not in self._told:
                self._told.add(cut)
                logger.warning(
                    "no sentence of training had the template %s: expect little of it",
                    bracketed(cut),
                )
            asked.append(bracketed(parse_text(tree) if self.writer.reads == PARSE else cut))
        return asked

    def _unfit(self, lines: Sequence[str]) -> list[str]:
        """Why each sentence cannot be paraphrased; nothing if it can."""
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
        """What the writer reads beside each sentence: templates, or the parses they are filled to,
        nothing where that fails. Sentences without a parse are remarked."""
        trees = [[parse_text(checked_tree(text)) if text else "" for text in own] for own in asked]
        wanted = [[text for text in own if self._is_filled(text)] for own in trees]
        if not any(wanted):
            return trees
        assert self.generator is not None
        sources = self._parsed(lines, parses, remarks)
        how = GenerationOptions(beams=3, outputs=3, max_tokens=MOST_PARSE_TOKENS)
        written = self.generator.write(sources, wanted, how, scores=False)
        found = []
        for own, outputs in zip(trees, written, strict=True):
            filled = iter(outputs)
            found.append(
                [
                    first_tree([each.text for each in next(filled)], text)
                    if self._is_filled(text)
                    else text
                    for text in own
                ]
            )
        return found

    def _is_filled(self, text: str) -> bool:
        """Whether the parse generator makes a whole parse of it."""
        if self.generator is None or self.writer.reads != PARSE or not text:
            return False
        return not is_whole(read_tree(text))

    def _parsed(
        self, lines: Sequence[str], parses: Sequence[Tree | None] | None, remarks: list[str]
    ) -> list[str]:
        """The parse of each sentence, nothing where there is none, which is remarked."""
        if parses is None:
            if self.parser is None:
                raise DataError(
                    "the parse generator reads the parse of each sentence: name a parser, or give "
                    "the trees"
                )
            fit = [number for number, remark in enumerate(remarks) if not remark]
            parses = [None] * len(lines)
            for number, found in zip(fit, self.parser([lines[n] for n in fit]), strict=True):
                parses[number] = _tree_of(found)
        elif len(parses) != len(lines):
            got = f"{counted(len(lines), 'sentence')} and {counted(len(parses), 'tree')}"
            raise DataError(f"each sentence needs a tree: got {got}")
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


def _tree_of(found: Tree | ParsedLine | None) -> Tree | None:
    """The tree that a parser gave, if it gave one."""
    if isinstance(found, ParsedLine):
        return None if found.problem else found.tree
    if not isinstance(found, Tree | None):
        raise TypeError(f"a parser must give a Tree for each sentence, or None, not {found!r}")
    return found
