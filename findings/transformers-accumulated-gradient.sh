#!/usr/bin/env bash
# The Trainer of transformers adds up the losses of accumulated batches for Marian, mBART and T5, and takes no mean.
#
# Guess: four batches of one sentence with gradient_accumulation_steps=4 give the gradient of one batch of four, up to
#        rounding, if all sentences are equally long; so with label smoothing and without.
# Miss:  gradient and reported loss are four times as large. The trainer leaves the division to any model whose `forward`
#        takes keyword arguments, and these take them and divide by their own batch alone. With label_smoothing_factor
#        the trainer computes the loss itself, and it is right. Clipping to max_grad_norm=1.0 hides the factor: gradients
#        are clipped that were small.
. "$(dirname "$0")/environment.sh" transformers==5.24.0 torch==2.13.0 accelerate==1.15.0 numpy==2.4.6
python - 2>warnings.log <<'PYTHON'
import torch
import transformers
from finding import expect

END, PAD = 1, 0
SHARED = {"vocab_size": 11, "d_model": 8, "pad_token_id": PAD, "eos_token_id": END, "decoder_start_token_id": PAD}
BART = SHARED | {
    "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
    "encoder_ffn_dim": 8, "decoder_ffn_dim": 8, "max_position_embeddings": 16, "dropout": 0.0,
}
T5 = SHARED | {"d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2, "dropout_rate": 0.0}
PAIRS = [{"input_ids": [3, 4, END], "labels": [6, 7, 8, END]}, {"input_ids": [5, 9, END], "labels": [8, 6, 10, END]}] * 2


def collate(rows):
    batch = {key: torch.tensor([row[key] for row in rows]) for key in ("input_ids", "labels")}
    started = torch.cat((torch.full((len(rows), 1), PAD), batch["labels"][:, :-1]), dim=1)
    return batch | {"decoder_input_ids": started}


def trained(model_type, config, n_sentences, n_batches, smoothing):
    """Return the norm of the gradient of one update, and the loss that is reported."""
    class Norm(transformers.TrainerCallback):
        def on_pre_optimizer_step(self, *_, **__):
            self.value = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]).norm().item()

    torch.manual_seed(0)
    model, norm = model_type(config), Norm()
    arguments = transformers.Seq2SeqTrainingArguments(
        "run", per_device_train_batch_size=n_sentences, gradient_accumulation_steps=n_batches, max_steps=1,
        label_smoothing_factor=smoothing, max_grad_norm=1e9, logging_steps=1, save_strategy="no", report_to=[],
        use_cpu=True, disable_tqdm=True,
    )
    trainer = transformers.Seq2SeqTrainer(model, arguments, train_dataset=PAIRS, data_collator=collate, callbacks=[norm])
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    return norm.value, trainer.state.log_history[0]["loss"]


def factors(name, settings, smoothing=0.0):
    """Return how many times larger gradient and loss are in four batches of one than in one batch of four."""
    config, model_type = getattr(transformers, f"{name}Config"), f"{name}ForConditionalGeneration"
    model_type = getattr(transformers, "MarianMTModel" if name == "Marian" else model_type)
    whole, parts = (trained(model_type, config(**settings), *split, smoothing) for split in ((4, 1), (1, 4)))
    return [round(part / one, 2) for part, one in zip(parts, whole)]


expect("Marian, gradient and loss", factors("Marian", BART), [4.0, 4.0])
expect("mBART, gradient and loss", factors("MBart", BART), [4.0, 4.0])
expect("T5, gradient and loss", factors("T5", T5), [4.0, 4.0])
expect("Marian with label smoothing", factors("Marian", BART, smoothing=0.1), [1.0, 1.0])
PYTHON
