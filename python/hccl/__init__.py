"""Python side of the HCCL implementation. Importing the package loads nothing; see its sub-packages."""
