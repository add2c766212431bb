"""Blocks of output in the guide that need more than the program: firmware in QEMU, and ExecuTorch's runtime. guide_pages.py and test_docs.py check the others.

