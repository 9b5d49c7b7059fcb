"""`paraphrastic data list | info | build | export | stats | counts`."""

import argparse
import dataclasses
import os
import sys
from collections.abc import Iterable
from typing import Any

from paraphrastic_hf.cli.shared.lines import add_json_option, dump_json, holds_output
from paraphrastic_hf.cli.shared.options import add_data_option, data_root, shows_progress
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.io.markdown import plain_table

LOOKUP = """\
Files are read from --data, or else from $PARAPHRASTIC_DATA. Without them they are downloaded to the
cache ($PARAPHRASTIC_CACHE) and verified.

"""
ACTIONS = {  # summary and examples of each
    "list": ("list the corpora with their row types and licenses", "list"),
    "info": ("describe a corpus: source, license, rows and options", "info sts"),
    "build": (
        "load a corpus into the datasets cache and count its rows",
        "build sts --config sts14 --data DATA",
    ),
    "export": (
        "write a corpus as parquet with a card, for plain datasets.load_dataset",
        "export sick --output sick-parquet --push me/sick",
    ),
    "stats": (
        "count rows, lengths, repeats, scores and classes of a corpus, as JSON",
        "stats paranmt --data DATA/paranmt --set min_score=0.5 max_overlap=0.2",
    ),
    "counts": (
        "compare the rows of all corpora in a folder with the published counts",
        "counts --data DATA",
    ),
}
RESERVED = ("name", "config", "configs", "split", "data_dir", "output", "streaming", "progress")


def configure(parser: Parser) -> None:
    parser.epilog = LOOKUP + _shown(example for _, example in ACTIONS.values())
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for action, (summary, example) in ACTIONS.items():
        sentence = f"{summary[0].upper()}{summary[1:]}."
        command = actions.add_parser(action, help=summary, description=sentence)
        command.epilog = _shown([example])
        if action == "counts":
            add_data_option(command, "or another folder that holds folders of corpora")
        elif action != "list":
            command.option("name", "name of the corpus, as in `paraphrastic data list`")
        if action in ("build", "export", "stats"):
            _add_corpus_options(command, "all" if action == "export" else "the first")
            command.epilog = LOOKUP + command.epilog
    commands = actions.choices
    add_json_option(commands["list"], "an array of corpora")
    commands["build"].option(
        "--output DIR", "folder for datasets.load_from_disk (default: the datasets cache)"
    )
    export = commands["export"]
    export.option("--output DIR", "folder for parquet files and card", required=True)
    export.option("--push ORG/NAME", "private dataset repository on the Hub to upload to")
    export.flag("--public", "with --push: public repository, if the license allows it")


def _add_corpus_options(parser: Parser, default: str) -> None:
    parser.option("--config", f"configuration to read (default: {default})")
    parser.option(
        "--data DIR",
        "data folder, or folder with the official files of this corpus (default: "
        "$PARAPHRASTIC_DATA if it contains the corpus, else download)",
    )
    parser.option(
        "--set KEY=VALUE",
        "options of the corpus, listed by `data info NAME`",
        default=[],
        nargs="+",
    )


def _shown(examples: Iterable[str]) -> str:
    return "\n".join(["examples:", *(f"  paraphrastic data {each}" for each in examples)])


def run(arguments: argparse.Namespace) -> None:
    actions = (_list, _info, _build, _export, _stats, _counts)
    dict(zip(ACTIONS, actions, strict=True))[arguments.action](arguments)


def _list(arguments: argparse.Namespace) -> None:
    from paraphrastic_hf.corpora.sources import SOURCES

    if arguments.json:
        keys = ("name", "summary", "row_type", "license", "homepage", "configs")
        values = [
            {**{key: getattr(s, key) for key in keys}, "downloads": bool(s.files)}
            for s in SOURCES.values()
        ]
        dump_json(values, sys.stdout)
        return
    rows = [("corpus", "rows are", "configs", "download", "license")]
    for s in SOURCES.values():
        download = "" if s.files else "by hand"
        rows.append((s.name, s.row_type, str(len(s.configs) or "any"), download, s.license))
    print("\n".join(plain_table(rows)))


def _info(arguments: argparse.Namespace) -> None:
    from paraphrastic_hf.corpora.card import counts_table
    from paraphrastic_hf.corpora.load import STOCK_FIELDS, builder_class, find_source
    from paraphrastic_hf.corpora.sources import checksums

    source = find_source(arguments.name)
    print(f"{source.name}: {source.summary}\n")
    for title, text in (
        ("rows are", source.row_type),
        ("used in", source.section),
        ("license", source.license),
        ("homepage", source.homepage),
        ("cite", source.citation),
        ("folders", ", ".join(source.folders)),
        ("by hand", source.by_hand),
        ("note", source.notes),
    ):
        if text:
            print(f"{title + ':':<10}{text}")
    for remote in source.files:
        print(f"{'download:':<10}{remote.url}")
    known = checksums().get(source.name, {})
    if known:
        total = sum(size for _, size in known.values())
        print(f"{'checked:':<10}{counted(len(known), 'file')} by SHA-256, {total:,} bytes in all")
    if any(not remote.is_known for config in source.configs for remote in source.remotes(config)):
        print(f"{'':<10}unverified files: the SHA-256 is recorded at the first download")
    for field in dataclasses.fields(builder_class(source).BUILDER_CONFIG_CLASS):
        if field.name not in STOCK_FIELDS:
            print(f"{'option:':<10}{field.name} ({field.type}; default {field.default})")
    print("\nPublished rows:\n" + counts_table(source.configs))


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    from paraphrastic_hf.config.recipe import parse_overrides

    options: dict[str, Any] = {}
    for item in arguments.set:
        if "=" not in item:
            raise DataError(f"--set takes KEY=VALUE, got {item!r}")
        options.update(parse_overrides([f"--{item}"]))
    for name in options:  # load_dataset has arguments of these names
        if name in RESERVED:
            raise DataError(
                f"--set {name}: {arguments.name} has no such option. List its options with "
                f"`paraphrastic data info {arguments.name}`"
            )
    return options


def _build(arguments: argparse.Namespace) -> None:
    from paraphrastic_hf.corpora.load import find_source, load_dataset

    source = find_source(arguments.name)
    config = arguments.config or next(iter(source.configs), None)
    found = load_dataset(arguments.name, config, data_dir=arguments.data, **_options(arguments))
    for split, rows in found.items():
        published = source.configs.get(str(config), {}).get(str(split))
        beside = f" (published: {published:,})" if published is not None else ""
        print(f"{arguments.name} {config} {split}: {counted(len(rows), 'row')}{beside}")
    if arguments.output:
        found.save_to_disk(arguments.output)
        print(arguments.output)


@holds_output("exporting")
def _export(arguments: argparse.Namespace) -> None:
    from paraphrastic_hf.corpora.export import check_license, export, gather
    from paraphrastic_hf.corpora.load import find_source

    if arguments.push and arguments.public:
        check_license(arguments.name)
    configs = [arguments.config] if arguments.config else None
    counts = export(
        arguments.name,
        arguments.output,
        configs=configs,
        data_dir=arguments.data,
        progress=shows_progress(arguments),
        **_options(arguments),
    )
    for config, splits in counts.items():
        print(f"{config}: " + ", ".join(f"{split} {rows:,}" for split, rows in splits.items()))
    print(os.path.join(arguments.output, "README.md"))
    if arguments.push:
        from paraphrastic_hf.io.send import Destination, upload

        to = Destination(
            arguments.push,
            "dataset",
            private=not arguments.public,
            must_be_private=not find_source(arguments.name).may_share,
        )
        print(upload(to, lambda place, _: gather(arguments.name, arguments.output, place)))


def _stats(arguments: argparse.Namespace) -> None:
    from tqdm.auto import tqdm

    from paraphrastic_hf.corpora.load import find_source, load_dataset
    from paraphrastic_hf.corpora.statistics import describe

    config = arguments.config or next(iter(find_source(arguments.name).configs), None)
    splits = load_dataset(
        arguments.name, config, data_dir=arguments.data, streaming=True, **_options(arguments)
    )
    found = {}
    for split, rows in splits.items():
        bar = tqdm(rows, desc=str(split), unit=" rows", leave=False, disable=None)
        found[str(split)] = describe(bar, rows.features)
    dump_json({"corpus": arguments.name, "config": config, "splits": found}, sys.stdout)


def _counts(arguments: argparse.Namespace) -> None:
    from paraphrastic_hf.corpora.statistics import count_corpora, markdown

    root = data_root(arguments.data, "the folders of corpora")
    print(markdown(count_corpora(root, progress=shows_progress(arguments))))
