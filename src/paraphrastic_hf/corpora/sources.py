"""All records of corpora by name."""

from __future__ import annotations

from paraphrastic_hf.corpora.records.similarity import SIMILARITY
from paraphrastic_hf.corpora.records.tasks import TASKS
from paraphrastic_hf.corpora.records.training import TRAINING
from paraphrastic_hf.corpora.source import Source

SOURCES: dict[str, Source] = {source.name: source for source in (*TRAINING, *SIMILARITY, *TASKS)}
