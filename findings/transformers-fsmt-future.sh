#!/usr/bin/env bash
# FSMT of transformers 5 lets each token of a given translation see the tokens behind it, with its default arguments.
#
# Guess: the logits for a token of `decoder_input_ids` depend on the tokens up to it, in FSMT as in Marian;
#        `generate` gives the same with `use_cache=False`; of `labels` alone the decoder's input is made, shifted by
#        one.
# Miss:  the mask that hides later tokens is left out where the cache is used, which is the default. With a whole
#        translation as input, as for the score of a reference, or in the Trainer with label smoothing, the model
#        sees the word that it is asked for. `generate` without a cache has no mask either, as it gives the encoder's
#        output and no source ids. With `labels` alone, the decoder reads the source: other lengths are an error, but
#        if both are padded to one length, training learns something else. The German-English models of WMT 2019 are
#        of this class.
. "$(dirname "$0")/environment.sh" torch==2.13.0 transformers==5.23.0 numpy==2.4.6
python - 2>transformers.log <<'PYTHON' || { cat transformers.log >&2; exit 1; }
import torch
from finding import expect
from transformers import FSMTConfig, FSMTForConditionalGeneration, MarianConfig, MarianMTModel

SOURCE, TARGET = torch.tensor([[5, 6, 7, 8, 9, 2]]), torch.tensor([[2, 10, 11, 12, 13, 14]])
SIZES = dict(d_model=16, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
             encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=32, pad_token_id=1, eos_token_id=2,
             decoder_start_token_id=2)


def random(model):
    """Give a model weights of the size of trained ones."""
    torch.manual_seed(0)
    for parameter in model.parameters():
        if parameter.requires_grad and parameter.dim() == 2:
            torch.nn.init.normal_(parameter, std=0.35)
    return model.eval()


@torch.no_grad()
def logits(model, target, **options):
    return model(input_ids=SOURCE, decoder_input_ids=target, **options).logits


def stays(model, **options):
    """Return whether the logits before the last token stay when that token is another one."""
    other = TARGET.clone()
    other[0, -1] = 20
    before, after = logits(model, TARGET, **options), logits(model, other, **options)
    return torch.allclose(before[:, :-1], after[:, :-1], atol=1e-5)


def greedy(model, **options):
    return model.generate(SOURCE, max_new_tokens=12, do_sample=False, num_beams=1, **options).tolist()


marian = random(MarianMTModel(MarianConfig(vocab_size=40, **SIZES)))
config = FSMTConfig(src_vocab_size=40, tgt_vocab_size=40, langs=["de", "en"], **SIZES)
fsmt = random(FSMTForConditionalGeneration(config))
expect("Marian: earlier logits stay", stays(marian), True)
expect("FSMT: earlier logits stay", stays(fsmt), False)
expect("FSMT with use_cache=False: earlier logits stay", stays(fsmt, use_cache=False), True)

LABELS = torch.cat((TARGET[:, 1:], TARGET[:, :1]), dim=1)


@torch.no_grad()
def reads(model, target):
    """Return whether the loss of `labels` alone is that of a decoder that reads these tokens."""
    of_labels = model(input_ids=SOURCE, labels=LABELS).loss
    of_logits = torch.nn.functional.cross_entropy(logits(model, target, use_cache=False)[0], LABELS[0])
    return torch.allclose(of_labels, of_logits, atol=1e-4)


SHIFTED_SOURCE = torch.cat((SOURCE[:, -1:], SOURCE[:, :-1]), dim=1)
for name, model, labels, source in [("Marian", marian, True, False), ("FSMT", fsmt, False, True)]:
    expect(f"{name} with labels alone: the decoder reads them", reads(model, TARGET), labels)
    expect(f"{name} with labels alone: the decoder reads the source", reads(model, SHIFTED_SOURCE), source)
expect("Marian: greedy search with and without cache agree", greedy(marian) == greedy(marian, use_cache=False), True)
expect("FSMT: greedy search with and without cache agree", greedy(fsmt) == greedy(fsmt, use_cache=False), False)
PYTHON
