"""VGF files and the devices that run them."""
