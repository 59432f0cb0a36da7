"""Evaluation: BLEU, chrF and TER with sacreBLEU signatures, confidence intervals, validation during training."""
