"""What a model that is divided over processes cannot do."""

from types import SimpleNamespace

import pytest

from transformer.config import ModelConfig
from transformer.model import Transformer
from translate.config.schema import TrainingConfig
from translate.errors import UserError
from translate.training.distributed import replica_of
from translate.training.optimizer import new_optimizer


@pytest.mark.parametrize(("key", "value"), [("ema", 0.9), ("best_by", "bleu"), ("optimizer", "muon")])
def test_settings_that_need_the_whole_model_are_refused_with_fsdp(key, value):
    model = Transformer(ModelConfig(vocab_size=7, d_model=4, n_heads=2, d_ff=6, n_encoder_layers=1, n_decoder_layers=1))
    config = TrainingConfig(parallel="fsdp", **{key: value})
    with pytest.raises(UserError, match=rf"training\.{key} = .* needs the whole model on every process; set"):
        replica_of(model, new_optimizer(model, config), config, SimpleNamespace(size=2))
