"""The system config and memory mode that the Arm backend passes to Vela for each NPU family."""

VELA_DEFAULTS = {
    "ethos-u55": ("Ethos_U55_High_End_Embedded", "Shared_Sram"),
    "ethos-u65": ("Ethos_U65_High_End", "Dedicated_Sram"),
    "ethos-u85": ("Ethos_U85_SYS_DRAM_Mid", "Shared_Sram"),
}
