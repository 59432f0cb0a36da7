#!/usr/bin/env bash
# A seed for SentencePiece's sampling starts again in each new thread, so each of them draws the same segmentations.
#
# Guess: after `set_random_generator_seed(7)`, draws in new threads differ from one another, as without a seed.
# Miss:  each thread has a generator of its own, and all get the same seed. Where a thread prepares each epoch, or each
#        thread its part of a corpus, subword regularization gives a sentence the same segmentation every time: the model
#        sees one segmentation where it was to see many. Without a seed the threads differ; in one thread the draws do.
. "$(dirname "$0")/environment.sh" sentencepiece==0.2.3
python - <<'PYTHON'
import io
from concurrent.futures import ThreadPoolExecutor

import sentencepiece
from finding import expect

words = ["Haus", "Hausbau", "Bauhaus", "Baum", "Raum", "Baumhaus", "Hausbaum", "Raumbau"]
model = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter([" ".join(words[i:] + words[:i]) for i in range(8)] * 20), model_writer=model, vocab_size=30,
    hard_vocab_limit=False, minloglevel=2,
)
processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def epoch():
    """Nine draws, one after the other."""
    sampled = (processor.encode("Baumhaus und Hausbaum", enable_sampling=True, alpha=0.1, nbest_size=-1) for _ in range(9))
    return tuple(map(tuple, sampled))


def epoch_in_new_thread():
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(epoch).result()


def number_of_others(draw):
    return len({draw() for _ in range(5)})


expect("different epochs of 5, new threads, no seed", number_of_others(epoch_in_new_thread), 5)
sentencepiece.set_random_generator_seed(7)
expect("different epochs of 5, one thread, seed", number_of_others(epoch), 5)
expect("different epochs of 5, new threads, seed", number_of_others(epoch_in_new_thread), 1)
expect("different draws in such an epoch", len(set(epoch_in_new_thread())) > 1, True)
PYTHON
