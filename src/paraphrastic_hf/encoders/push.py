"""A model directory to a Hub repository."""

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
    """Base of what is loaded from a model directory, and is saved and uploaded as one."""

    saving_options: ClassVar[tuple[str, ...]] = ()  # of `save_pretrained`, beside a directory
    _directory: Path | None = None  # that it was loaded from, with its card

    @abstractmethod
    def save_pretrained(self, directory: str | os.PathLike[str]) -> None:
        """Write a model directory, its numbers as float32.

        Args:
            directory: Where to write; made if need be.

        Raises:
            OSError: The disk is full or the directory cannot be written.
        """

    def push_to_hub(self, repo_id: str, **options: Any) -> str:
        """Upload what `save_pretrained` writes, with the card of the directory that it was loaded
        from, if there is one.

        Args:
            repo_id: Repository, `someone/model`; made if need be.
            **options: `private`, `token`, `revision`, `commit_message` and `create_pr`, as `push`
                takes them; and what `save_pretrained` takes, the `precision` of an encoder.

        Returns:
            The address of the commit, or of the pull request.

        Raises:
            PublishError: The Hub cannot be reached, or refuses; the token is missing or may only
                read; or a file holds a secret or an absolute path.
            TypeError: There is no option of a name.

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
    """Upload the files that a function writes.

    `paraphrastic publish` also writes the card and checks the licenses of the sources.

    Args:
        save: Writes the model to the folder that it is given.
        repo_id: Repository, `someone/model`; made if need be.
        card: A model card that goes along, if there is such a file. It is named `README.md`.
        private: Whether a new repository is private; as the account has it if None.
        token: Of the account; the one of `hf auth login` if None.
        revision: Branch; the main one if None.
        commit_message: What the commit says.
        create_pr: Open a pull request instead of writing to the main branch.
        **unknown: Refused, with the most similar name.

    Returns:
        The address of the commit, or of the pull request.

    Raises:
        PublishError: The Hub cannot be reached, or refuses; the token is missing or may only read;
            or a file holds a secret or an absolute path.
        TypeError: There is no option of a name.
        OSError: The disk is full.
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
