#!/usr/bin/env bash
# A tokenizer of transformers that two threads share cuts the text of one at the other's `max_length`, without an error.
#
# Guess: truncation and padding belong to the call. As the fast tokenizer keeps them inside, threads may meet in a
#        RuntimeError, "Already borrowed", now and then, but never get another length than they asked for.
# Miss:  no error comes. One call in some dozens is cut or padded as the other thread asked: a text of 200 words that
#        was to be whole has 16, one that was to have 16 has 200, and a batch without padding has some. A server that
#        embeds or classifies short texts in one thread and translates long ones in another loses the ends of
#        translations, about once in a hundred requests, and no test with one request at a time shows it. Each thread
#        needs a copy of the tokenizer.
. "$(dirname "$0")/environment.sh" transformers==5.24.0 tokenizers==0.23.3
python - <<'PYTHON' 2>warnings.log
import collections
import threading
import time

from finding import expect
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

WORDS = "Wort " * 200
SECONDS = 60


def tokenizer():
    model = Tokenizer(models.WordLevel({"<unk>": 0, "Wort": 1}, unk_token="<unk>"))
    model.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=model, unk_token="<unk>", pad_token="<unk>")


def lengths(first, second):
    """Return the lengths that each of two threads got, until both got a wrong one or the time is over."""
    seen = collections.defaultdict(set)
    end = time.monotonic() + SECONDS

    def run(name, other, encode):
        while time.monotonic() < end and (len(seen[name]) < 2 or len(seen[other]) < 2):
            try:
                seen[name].add(len(encode(WORDS)["input_ids"]))
            except RuntimeError as error:
                seen["errors"].add(str(error))

    threads = [
        threading.Thread(target=run, args=arguments)
        for arguments in (("cut", "whole", first), ("whole", "cut", second))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {name: sorted(values) for name, values in sorted(seen.items()) if values}


def cut(shared):
    return lambda text: shared(text, truncation=True, max_length=16)


shared = tokenizer()
expect("one after the other", [len(cut(shared)(WORDS)["input_ids"]), len(shared(WORDS)["input_ids"])], [16, 200])
expect("a shared tokenizer", lengths(cut(shared), shared), {"cut": [16, 200], "whole": [16, 200]})
SECONDS = 5
expect("a tokenizer each", lengths(cut(tokenizer()), tokenizer()), {"cut": [16], "whole": [200]})
PYTHON
