"""Evaluation: BLEU, chrF and TER with sacreBLEU signatures, confidence intervals, comparisons."""
