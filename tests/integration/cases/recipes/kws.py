"""Keyword spotting, trained for some steps on noisy copies of one pattern per word. It recognizes the words of labelled.npz."""

import torch

from cases.networks import DsCnn, trained
from cases.peers import Case

WORDS = 12


def case():
    words = torch.randn(WORDS, 1, 7, 10).repeat_interleave(7, 2)  # a word has seven sounds
    model = trained(DsCnn(words=WORDS), words, steps=30, rate=1e-2, noise=0.5)
    y = torch.arange(10)
    x = words[y] + 0.5 * torch.randn(10, 1, 49, 10)
    with torch.no_grad():
        logits = model(x)
    assert (logits.argmax(1) == y).all(), "the model has not learned its words"
    labelled = {"x": x.numpy(), "y": y.numpy(), "float_logits": logits.numpy()}
    return Case(model, (x[:1],), [(sample,) for sample in x.split(1)], more={"labelled": labelled})
