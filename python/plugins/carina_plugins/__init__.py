"""Carina in programs of others: model_explorer for Model Explorer, mlia for MLIA."""
