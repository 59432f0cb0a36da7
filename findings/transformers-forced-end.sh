#!/usr/bin/env bash
# In `generate` with beams, an end that `forced_eos_token_id` forces costs nothing, so a lower limit can give a longer text.
#
# Guess: at max_length the end is the one choice left and counts with the probability that the model gives it; a
#        hypothesis that is cut off there loses against complete ones, and a lower limit never gives a longer output.
# Miss:  the processor sets the log-probability of the end to 0, after the softmax. A text that was cut off pays for no
#        end and wins over complete ones, whose ends are paid. Every MarianConfig has forced_eos_token_id=0 by default,
#        so OPUS-MT models search so. A comparison of searches at a low limit compares this.
. "$(dirname "$0")/environment.sh" transformers==5.24.0 torch==2.13.0 numpy==2.4.6
python - 2>warnings.log <<'PYTHON'
import math
import torch
from finding import expect
from transformers import MarianConfig, MarianMTModel

END, A, B, PAD = range(4)
PROBABILITY = {END: 0.45, A: 0.5, B: 0.05, PAD: 1e-9}  # of the next token, always
config = MarianConfig(
    vocab_size=4, d_model=2, encoder_layers=1, decoder_layers=1, encoder_attention_heads=1, decoder_attention_heads=1,
    encoder_ffn_dim=2, decoder_ffn_dim=2, pad_token_id=PAD, eos_token_id=END, decoder_start_token_id=PAD,
)
model = MarianMTModel(config).eval()
with torch.no_grad():
    for parameter in model.parameters():
        parameter.zero_()
    model.final_logits_bias = torch.tensor([[math.log(PROBABILITY[i]) for i in range(4)]])

def search(n_tokens, forced):
    found = model.generate(
        torch.tensor([[A, END]]), num_beams=2, length_penalty=0.0, max_length=1 + n_tokens, forced_eos_token_id=forced,
        early_stopping=True, do_sample=False, return_dict_in_generate=True, output_scores=True,
    )
    return found.sequences[0, 1:].tolist(), round(math.exp(found.sequences_scores[0].item()), 4)

expect("forced_eos_token_id of a MarianConfig", MarianConfig().forced_eos_token_id, 0)
expect("at most 5 tokens: best output, its probability", search(5, END), ([END], 0.45))
expect("at most 2 tokens: best output, its probability", search(2, END), ([A, END], 0.5))
expect("probability of that output by the model", round(PROBABILITY[A] * PROBABILITY[END], 4), 0.225)
PYTHON
