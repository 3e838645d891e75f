"""Language models behind one small interface: a tiny random Qwen3, SmolLM2, Qwen3's full width, any local one.

Read `base` for the interface, `transformer` for the batch with its key-value cache, `gguf_llama` for weights and
tokenizer out of a GGUF file, `registry` for the names that `--model` takes. torch and transformers are imported
inside these modules only, so that everything else runs without them.
"""
