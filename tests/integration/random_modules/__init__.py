"""Random nn.Modules as people write them, through torch.export and every part of Carina: run.py has the story."""
