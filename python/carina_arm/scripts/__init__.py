"""What `carina.aot_arm_compiler`, `carina.arm_run` and `carina.evaluate_model` are made of: the Arm backend's scripts, their arguments and their outputs."""
