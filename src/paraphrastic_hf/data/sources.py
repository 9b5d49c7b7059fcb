"""All records of corpora by name."""

from __future__ import annotations

from paraphrastic_hf.data.source import Source
from paraphrastic_hf.data.sources_similarity import SIMILARITY
from paraphrastic_hf.data.sources_tasks import TASKS
from paraphrastic_hf.data.sources_training import TRAINING

SOURCES: dict[str, Source] = {source.name: source for source in (*TRAINING, *SIMILARITY, *TASKS)}
