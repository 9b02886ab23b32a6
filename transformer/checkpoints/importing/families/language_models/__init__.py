"""Language models that people write from scratch after a lecture or a book, and Llama as Meta wrote it."""
