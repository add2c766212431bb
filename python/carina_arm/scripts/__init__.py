"""The implementation of `carina.aot_arm_compiler`, `carina.arm_run` and `carina.evaluate_model`: the Arm backend's scripts with their
arguments and outputs."""
