"""The families of encoders over one table of token vectors (thesis, 3.1.2, 3.6.2, 4.4 and 5.1.1).

A new family adds its line here.
"""

from __future__ import annotations

from paraphrastic_hf.models.encoders.averaging import AveragingModel
from paraphrastic_hf.models.encoders.char_cnn import CharCnnModel
from paraphrastic_hf.models.encoders.charagram import CharagramModel
from paraphrastic_hf.models.encoders.gated import GatedModel
from paraphrastic_hf.models.encoders.projection import ProjectionModel
from paraphrastic_hf.models.encoders.recurrent import RecurrentModel
from paraphrastic_hf.models.encoders.weighted import WeightedModel
from paraphrastic_hf.models.table import TableModel

FAMILIES: dict[str, type[TableModel]] = {
    "averaging": AveragingModel,
    "weighted": WeightedModel,
    "projection": ProjectionModel,
    "recurrent": RecurrentModel,
    "gated": GatedModel,
    "charagram": CharagramModel,
    "char_cnn": CharCnnModel,
}
