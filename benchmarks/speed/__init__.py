"""Makes log corpora and measures aiscorr beside ripgrep and bare decompression; nothing of it is installed."""
