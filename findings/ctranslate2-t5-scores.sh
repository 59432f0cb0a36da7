#!/usr/bin/env bash
# CTranslate2 flattens the probabilities of T5 1.1, Flan-T5 and mT5 if it converts them with transformers 5.
#
# Guess: `score_batch` of a converted T5 or mT5 gives the log-probabilities that transformers gives, as it does for
#        the first T5; the greedy translation is the same.
# Miss:  only the first T5 divides what goes into its softmax by the root of the width. The converter goes by
#        `tie_word_embeddings`, which was False in all later models; transformers 5 sets it to True in each T5 and
#        mT5, whatever the file says, and keeps the division elsewhere. So the logits of these models are divided by
#        8 to 64. The best token stays the best, and so a greedy translation looks right; scores, beams, sampling and
#        thresholds go by a nearly uniform distribution. transformers 4 left the setting as the file has it.
. "$(dirname "$0")/environment.sh" torch==2.13.0 transformers==5.23.0 ctranslate2==4.8.5 numpy==2.4.6
python - 2>transformers.log <<'PYTHON' || { cat transformers.log >&2; exit 1; }
import ctranslate2
import torch
import transformers
from ctranslate2.converters import TransformersConverter
from finding import expect
from tokenizers import Tokenizer, models

WORDS = ["<pad>", "</s>", "<unk>", *(f"w{i}" for i in range(37))]
SOURCE, TARGET = [5, 6, 7, 1], [8, 9, 10, 1]
SIZES = dict(vocab_size=len(WORDS), d_model=64, d_kv=16, d_ff=64, num_layers=1, num_heads=4, pad_token_id=0,
             eos_token_id=1, decoder_start_token_id=0)
tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>"))
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>",
                                                 unk_token="<unk>")


def probabilities(name, tied):
    """Return a target's mean log-probability by either library, and whether their greedy searches agree."""
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**SIZES, tie_word_embeddings=tied)
    model = getattr(transformers, f"{name}ForConditionalGeneration")(config).eval()
    if not tied:
        model.lm_head.weight = torch.nn.Parameter(torch.randn(len(WORDS), 64))
    model.save_pretrained("model")
    tokenizer.save_pretrained("model")
    model = type(model).from_pretrained("model").eval()
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([SOURCE]), decoder_input_ids=torch.tensor([[0, *TARGET[:-1]]])).logits
    steps = logits.log_softmax(-1)[0]
    greedy = model.generate(torch.tensor([SOURCE]), do_sample=False, num_beams=1, max_new_tokens=6)[0, 1:].tolist()

    TransformersConverter("model").convert("converted", force=True)
    translator = ctranslate2.Translator("converted")
    source, target = ([WORDS[i] for i in ids] for ids in (SOURCE, TARGET[:-1]))
    [scores] = translator.score_batch([source], [target])
    [result] = translator.translate_batch([source], beam_size=1, max_decoding_length=6)
    same = result.hypotheses[0] == [WORDS[i] for i in greedy if i != 1]
    wanted = steps[range(len(TARGET)), TARGET].mean().item()
    return round(wanted, 1), round(sum(scores.log_probs) / len(TARGET), 1), same


expect("T5, one matrix", probabilities("T5", tied=True), (-5.6, -5.6, True))
expect("T5 1.1, two matrices", probabilities("T5", tied=False), (-17.9, -3.9, True))
expect("mT5, two matrices", probabilities("MT5", tied=False), (-10.2, -3.5, True))
PYTHON
