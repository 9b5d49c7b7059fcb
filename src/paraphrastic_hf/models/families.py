"""The families of encoders over one table of token vectors (thesis, 3.1.2, 3.6.2, 4.4 and 5.1.1).

A new family adds its line here.
"""

from __future__ import annotations

from paraphrastic_hf.models.averaging import AveragingModel
from paraphrastic_hf.models.char_cnn import CharCnnModel
from paraphrastic_hf.models.charagram import CharagramModel
from paraphrastic_hf.models.gated import GatedModel
from paraphrastic_hf.models.projection import ProjectionModel
from paraphrastic_hf.models.recurrent import RecurrentModel
from paraphrastic_hf.models.table import TableModel
from paraphrastic_hf.models.weighted import WeightedModel

FAMILIES: dict[str, type[TableModel]] = {
    "averaging": AveragingModel,
    "weighted": WeightedModel,
    "projection": ProjectionModel,
    "recurrent": RecurrentModel,
    "gated": GatedModel,
    "charagram": CharagramModel,
    "char_cnn": CharCnnModel,
}
