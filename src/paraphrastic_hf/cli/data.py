"""`paraphrastic data list | info | build | export | stats | counts`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from typing import Any

from paraphrastic_hf.cli.shared.lines import holds_output
from paraphrastic_hf.cli.shared.options import add_data_option, data_root
from paraphrastic_hf.errors import DataError, counted

EXAMPLES = """examples:
  paraphrastic data list
  paraphrastic data info sts
  paraphrastic data list --json
  paraphrastic data build sts --config sts14 --data DATA
  paraphrastic data export sts --data DATA --output sts-parquet
  paraphrastic data stats paranmt --data DATA/paranmt --set min_score=0.5 max_overlap=0.2

--data is the folder of all data, or that of this corpus's official files. Without it the folder
that PARAPHRASTIC_DATA names is read, if the corpus is there; else files are downloaded and
verified, to the cache (PARAPHRASTIC_CACHE)."""


RESERVED = ("name", "config", "configs", "split", "data_dir", "output", "streaming", "progress")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's actions and arguments."""
    parser.epilog = EXAMPLES
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="every corpus, with its row type and license")
    _json_option(listing)
    info = actions.add_parser("info", help="what a corpus is, where it comes from, its rows")
    info.add_argument("name", help="the name of the corpus, as `paraphrastic data list` shows it")
    for action, summary in (
        ("build", "read a corpus into the datasets cache, and count its rows"),
        ("export", "write a corpus as parquet with a card, for plain datasets.load_dataset"),
        ("stats", "rows, lengths, repeats, scores and classes of a corpus"),
    ):
        command = actions.add_parser(action, help=summary, description=summary)
        command.add_argument("name", help="the name of the corpus (`paraphrastic data list`)")
        default = "all" if action == "export" else "the first"
        command.add_argument("--config", help=f"the configuration to read (default: {default})")
        command.add_argument(
            "--data",
            metavar="DIR",
            help="the folder of all data, or of this corpus's official files (default: "
            "PARAPHRASTIC_DATA if the corpus is there, else download them)",
        )
        command.add_argument(
            "--set",
            nargs="+",
            default=[],
            metavar="KEY=VALUE",
            help="options of the corpus, which `paraphrastic data info` names",
        )
        if action == "export":
            command.add_argument(
                "--output",
                required=True,
                help="the folder to write the parquet files and the card into",
            )
            command.add_argument(
                "--push",
                metavar="ORG/NAME",
                help="also upload the export to this dataset repository on the Hub, which is "
                "private",
            )
            command.add_argument(
                "--public",
                action="store_true",
                help="with --push, make the repository public, if the license allows it",
            )
        if action == "stats":
            _json_option(command)
        if action == "build":
            command.add_argument(
                "--output", help="also save the rows in this folder, for datasets.load_from_disk"
            )
    counts = actions.add_parser(
        "counts", help="rows read from a folder of corpora, beside the published counts"
    )
    add_data_option(counts, "or another that holds the folders of corpora")
    parser.set_defaults(run=run)


def _json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json", action="store_true", help="print one JSON value, for programs, and nothing else"
    )


def run(arguments: argparse.Namespace) -> None:
    """Do what the action says."""
    ACTIONS[arguments.action](arguments)


def _list(arguments: argparse.Namespace) -> None:
    from paraphrastic_hf.corpora.sources import SOURCES

    if arguments.json:
        keys = ("name", "summary", "row_type", "license", "homepage", "configs")
        values = [
            {**{key: getattr(s, key) for key in keys}, "downloads": bool(s.files)}
            for s in SOURCES.values()
        ]
        print(json.dumps(values, indent=2, ensure_ascii=False))
        return
    rows = [
        (
            s.name,
            s.row_type,
            str(len(s.configs) or "any"),
            "by hand" if not s.files else "",
            s.license,
        )
        for s in SOURCES.values()
    ]
    head = ("corpus", "rows are", "configs", "download", "license")
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(4)]
    for row in [head, *rows]:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        print("  ".join(cells) + "  " + row[4])


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
        members = sum("!" in place for place in known)
        what = counted(len(known) - members, "file") if len(known) > members else ""
        what += " and " if what and members else ""
        what += f"the members of {counted(members, 'archive')}" if members else ""
        print(f"{'checked:':<10}{what} by SHA-256, {total:,} bytes in all")
    remotes = {r.path: r for config in source.configs for r in source.remotes(config)}
    unverified = sum(not remote.is_known for remote in remotes.values())
    if unverified or (source.files and not source.configs):
        number = f"{unverified:,} of {counted(len(remotes), 'file')}" if remotes else "its files"
        print(f"{'':<10}unverified: {number}, whose SHA-256 is written down at the first download")
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
    for name in options:  # the corpus refuses all other names that are no options of it
        if name in RESERVED:
            raise DataError(f"--set {name}: {arguments.name} has no such option")
    return options


def _configs(arguments: argparse.Namespace) -> list[str | None]:
    from paraphrastic_hf.corpora.load import find_source

    source = find_source(arguments.name)
    return [arguments.config or next(iter(source.configs), None)]


def _build(arguments: argparse.Namespace) -> None:
    from paraphrastic_hf.corpora.load import find_source, load_dataset

    source = find_source(arguments.name)
    for config in _configs(arguments):
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
    from paraphrastic_hf.corpora.export import export, push

    configs = [arguments.config] if arguments.config else None
    counts = export(
        arguments.name,
        arguments.output,
        configs=configs,
        data_dir=arguments.data,
        progress=True,
        **_options(arguments),
    )
    for config, splits in counts.items():
        print(f"{config}: " + ", ".join(f"{split} {rows:,}" for split, rows in splits.items()))
    print(os.path.join(arguments.output, "README.md"))
    if arguments.push:
        print(push(arguments.name, arguments.output, arguments.push, public=arguments.public))


def _stats(arguments: argparse.Namespace) -> None:
    from tqdm.auto import tqdm

    from paraphrastic_hf.corpora.load import load_dataset
    from paraphrastic_hf.corpora.statistics import describe

    for config in _configs(arguments):
        splits = load_dataset(
            arguments.name,
            config,
            data_dir=arguments.data,
            streaming=True,
            **_options(arguments),
        )
        found: dict[str, Any] = {}
        for split, rows in splits.items():
            shown = describe(tqdm(rows, desc=str(split), unit=" rows", leave=False), rows.features)
            found[str(split)] = shown
            if not arguments.json:
                print(f"{arguments.name} {config} {split}")
                print(json.dumps(shown, indent=2, ensure_ascii=False))
        if arguments.json:
            value = {"corpus": arguments.name, "config": config, "splits": found}
            print(json.dumps(value, indent=2, ensure_ascii=False))


def _counts(arguments: argparse.Namespace) -> None:
    from paraphrastic_hf.corpora.counts import count_corpora, markdown

    root = data_root(arguments.data, "the folders of corpora")
    print(markdown(count_corpora(root, progress=True)))


ACTIONS = {
    "list": _list,
    "info": _info,
    "build": _build,
    "export": _export,
    "stats": _stats,
    "counts": _counts,
}
