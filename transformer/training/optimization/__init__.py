"""How weights are moved: the loss, the learning rate, Adam, and the processes that share the work."""
