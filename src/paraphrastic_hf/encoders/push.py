from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from paraphrastic_hf.errors import refuse_keywords
from paraphrastic_hf.io.send import Destination, copy_files, upload

CARD = "README.md"


class HubMixin(ABC):
    """Base class that adds `push_to_hub` to classes with `save_pretrained`."""

    saving_options: ClassVar[tuple[str, ...]] = ()  # keywords of `save_pretrained`
    _directory: Path | None = None  # directory it was loaded from, which may hold a card

    @abstractmethod
    def save_pretrained(self, directory: str | os.PathLike[str]) -> None:
        """Write a model directory with float32 weights. The directory is created if missing."""

    def push_to_hub(self, repo_id: str, **options: Any) -> str:
        """Upload the model, with the model card of the directory that it was loaded from.

        Args:
            repo_id: Repository, `someone/model`, created if missing.
            **options: `private`, `token`, `revision`, `commit_message` and `create_pr`, as in
                `push`, and the options of `save_pretrained`, such as `precision`.

        Returns:
            URL of the commit or pull request.

        Raises:
            PublishError: If the Hub is out of reach or refuses the upload, the token is missing or
                read-only, or a file contains a secret or an absolute path.
            TypeError: If an option is unknown.

        Example:
            >>> from paraphrastic_hf import SentenceEncoder
            >>> encoder = SentenceEncoder.from_pretrained("runs/mine")  # doctest: +SKIP
            >>> encoder.push_to_hub("someone/mine", private=True)  # doctest: +SKIP
        """
        card = self._directory / CARD if self._directory else None
        saving = {name: options.pop(name) for name in self.saving_options if name in options}
        return push(partial(self.save_pretrained, **saving), repo_id, card=card, **options)


def push(
    save: Callable[[Path], object],
    repo_id: str,
    *,
    card: Path | None = None,
    private: bool | None = None,
    token: str | bool | None = None,
    revision: str | None = None,
    commit_message: str | None = None,
    create_pr: bool = False,
    **unknown: Any,
) -> str:
    """Upload the files that `save` writes. Return the URL of the commit or pull request.

    `paraphrastic publish` also writes the model card and checks the licenses of the training data.

    Args:
        save: Function that writes the model to a given folder.
        repo_id: Repository, `someone/model`, created if missing.
        card: Model card to upload as `README.md`, if the file exists.
        private: Visibility of a new repository. None uses the account's default.
        token: Access token. None uses the token that `hf auth login` stored.
        revision: Branch to upload to. None means the main branch.
        create_pr: Open a pull request instead of committing directly.
        **unknown: Rejected with a suggestion.
    """
    refuse_keywords(unknown, push)
    to = Destination(
        repo_id,
        private=private,
        token=token,
        revision=revision,
        message=commit_message or "Upload a model of paraphrastic_hf",
        pull_request=create_pr,
    )

    def gather(folder: Path, repository: str) -> list[str]:
        save(folder)
        if card is not None and card.is_file():
            copy_files(card.parent, [card], folder)
        return []

    return upload(to, gather)
