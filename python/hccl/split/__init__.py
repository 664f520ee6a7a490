"""How the gradients of a step are put together into few all-reduces; see `api` and `fusion`."""
