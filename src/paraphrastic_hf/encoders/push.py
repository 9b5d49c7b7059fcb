import os
from abc import ABC, abstractmethod
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

    def push_to_hub(
        self,
        repo_id: str,
        *,
        private: bool | None = None,
        token: str | bool | None = None,
        revision: str | None = None,
        commit_message: str | None = None,
        create_pr: bool = False,
        **saving: Any,
    ) -> str:
        """Upload the model, with the model card of the directory that it was loaded from.

        `paraphrastic publish` also writes the card and checks the licenses of the training data.

        Args:
            repo_id: Repository, `someone/model`, created if missing.
            private: Visibility of a new repository. None uses the account's default.
            token: Access token. None uses the token that `hf auth login` stored.
            revision: Branch to upload to. None means the main branch.
            create_pr: Open a pull request instead of committing directly.
            **saving: Options of `save_pretrained`, such as `precision`.

        Returns:
            URL of the commit or pull request.

        Example:
            >>> from paraphrastic_hf import SentenceEncoder
            >>> encoder = SentenceEncoder.from_pretrained("runs/mine")  # doctest: +SKIP
            >>> encoder.push_to_hub("someone/mine", private=True)  # doctest: +SKIP
        """
        unknown = set(saving) - set(self.saving_options)
        refuse_keywords(unknown, self.push_to_hub, more=self.saving_options)
        to = Destination(
            repo_id,
            private=private,
            token=token,
            revision=revision,
            message=commit_message,
            pull_request=create_pr,
        )

        def gather(folder: Path, repository: str) -> list[str]:
            self.save_pretrained(folder, **saving)
            if self._directory is not None and (self._directory / CARD).is_file():
                copy_files(self._directory, [self._directory / CARD], folder)
            return []

        return upload(to, gather)
