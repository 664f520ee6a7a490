"""Groups of ranks by name, as programs written for HCCL's Python interface know them; see `api`."""
