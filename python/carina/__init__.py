"""Carina for Python programs: PyTorch models on Arm Ethos-U NPUs. The compiler itself is C++ (`carina`)."""
