#!/usr/bin/env bash
# `jax.random.categorical` draws hardly anything but the first tokens of a vocabulary if the logits are bf16.
#
# Guess: logits in bf16 are off by half a per cent, so the frequencies are too; among equal ones none is preferred.
# Miss:  the noise that decides is drawn in the type of the logits, and in bf16 it has some 128 values. Of 32,000 tokens
#        hundreds have the greatest, and the first of these is taken: of 500 draws from equal logits, none is beyond the
#        900th token, where half of them should be beyond the 16,000th. Of logits as models have them, the first
#        thousand get twice their share. In float16 the bias is smaller, and `mode="high"` makes it smaller and does not
#        end it; the documentation speaks of probabilities below 1e-7 in float32. Vocabularies have the frequent pieces
#        first, so that sampled translations, and data from them, only look less varied. `logits.astype("float32")`
#        mends it.
. "$(dirname "$0")/environment.sh" jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
python - 2>jax.log <<'PYTHON' || { cat jax.log >&2; exit 1; }
import jax
import jax.numpy as jnp
import numpy as np
from finding import expect

SIZE = 32_000


def drawn(logits, n, **options):
    return np.asarray(jax.random.categorical(jax.random.key(0), logits, shape=(n,), **options))


equal = jnp.zeros(SIZE)
for dtype, options, furthest in (
    ("float32", {}, "beyond 30,000"),
    ("float16", {}, "within 10,000"),
    ("bfloat16", {}, "within 1,000"),
):
    tokens = drawn(equal.astype(dtype), 500, **options)
    print(f"{dtype}: median {np.median(tokens):.0f}, greatest {tokens.max()}, of 500 draws from {SIZE} equal logits")
    place = "within 1,000" if tokens.max() < 1_000 else "within 10,000" if tokens.max() < 10_000 else "beyond 30,000"
    expect("the greatest", place, furthest)
median = np.median(drawn(equal.astype("bfloat16"), 500, mode="high"))
print(f'bfloat16 with mode="high": median {median:.0f}')
expect("a median below 10,000", bool(median < 10_000), True)

logits = 2 * jax.random.normal(jax.random.key(1), (SIZE,))
share = float(jax.nn.softmax(logits)[:1000].sum())
for dtype, least, most in (("float32", 0.8, 1.2), ("bfloat16", 1.8, 2.8)):
    ratio = (drawn(logits.astype(dtype), 2000) < 1000).mean() / share
    print(f"{dtype}: the first 1,000 tokens are drawn {ratio:.2f} times as often as their probability says")
    expect(f"between {least} and {most}", bool(least < ratio < most), True)
PYTHON
