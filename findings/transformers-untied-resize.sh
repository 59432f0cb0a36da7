#!/usr/bin/env bash
# transformers 5 throws an embedding matrix of an untied T5, mT5, Marian or BART away when tokens are added to it.
#
# Guess: `resize_token_embeddings(n + 4)` keeps the logits of the old tokens, whether input and output share a matrix
#        or not; the new rows are all that changes.
# Miss:  T5 1.1, Flan-T5, mT5 and UMT5 have an output matrix of their own, and loading says that it will not be tied.
#        But the configuration of version 5 says that it is, whatever the file says, and resizing ties it: the output
#        matrix is the input's from then on. Marian and BART with tie_word_embeddings=False have a third matrix,
#        `shared`, which no layer reads, and which resizing puts in place of the trained embeddings of encoder and
#        decoder. Resizing reports neither. Who adds tags for languages or domains to such a model starts from a
#        broken one.
. "$(dirname "$0")/environment.sh" torch==2.13.0 transformers==5.23.0 numpy==2.4.6
python - 2>transformers.log <<'PYTHON' || { cat transformers.log >&2; exit 1; }
import torch
import transformers
from finding import expect

TOKENS, WIDTH = 40, 16
SOURCE, TARGET = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 8, 9, 10]])
T5 = dict(vocab_size=TOKENS, d_model=WIDTH, d_kv=8, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=1)
BART = dict(vocab_size=TOKENS, d_model=WIDTH, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
            decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, pad_token_id=1, eos_token_id=2,
            bos_token_id=0, decoder_start_token_id=2, forced_eos_token_id=2)


@torch.no_grad()
def logits(model):
    """Return the logits of the tokens that the model had from the beginning."""
    return model(input_ids=SOURCE, decoder_input_ids=TARGET).logits[..., :TOKENS]


def compare(name, config):
    """Save and load a random model, add four tokens, and look whether the logits of the old ones stay."""
    torch.manual_seed(0)
    model = getattr(transformers, f"{name}Model" if name == "MarianMT" else f"{name}ForConditionalGeneration")(config)
    if config.tie_word_embeddings and "T5" in name and untied:
        model.lm_head.weight = torch.nn.Parameter(torch.randn(TOKENS, WIDTH))
    for parameter in model.parameters():  # larger than as initialised, as in a trained model
        if parameter.requires_grad and parameter.dim() == 2:
            torch.nn.init.normal_(parameter)
    before = logits(model.eval())
    model.save_pretrained("model")
    model = type(model).from_pretrained("model").eval()
    loaded = torch.equal(logits(model), before)
    model.resize_token_embeddings(TOKENS + 4)
    resized = torch.allclose(logits(model), before, atol=1e-4)
    kind = "untied" if untied else "tied"
    expect(f"{kind} {name}: the same when loaded, and with four more tokens", (loaded, resized), (True, not untied))
    return model


for untied in (False, True):
    for name in ("T5", "MT5", "UMT5"):
        model = compare(name, getattr(transformers, f"{name}Config")(**T5, tie_word_embeddings=not untied))
        expect("  its output matrix is that of the input", model.lm_head.weight is model.shared.weight, True)
    for name in ("MarianMT", "Bart", "MBart"):
        config = getattr(transformers, f"{name.removesuffix('MT')}Config")(**BART, tie_word_embeddings=not untied)
        model = compare(name, config)
PYTHON
