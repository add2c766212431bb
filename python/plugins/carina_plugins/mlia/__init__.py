"""A plugin for MLIA, Arm's ML Inference Advisor (PyPI: mlia): advice on compatibility and performance from Carina's compiler and simulator.

    pip install carina-0.1.0-cp312-abi3-manylinux_2_35_x86_64.whl 'python/plugins[mlia]'
    mlia check model.pt2 --target-profile profile.toml --performance --compatibility

profile.toml says `target = "carina"` and `npu = "ethos-u55-128"`, and may set quantize, calibration, system_config,
memory_mode, config and optimize as options of carina.compile(). MLIA finds the plugin by the entry points of the package.
"""
