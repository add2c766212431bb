"""Silero VAD: does somebody speak? Half a second at 16 kHz in chunks of 32 ms. Voices are synthesized: pulses through formants."""

import numpy as np
import torch
from scipy.signal import lfilter
from torch import nn
from zoo_model import Entry, Trained, file_of, safetensors

RATE, CHUNK, CONTEXT, CHUNKS = 16000, 512, 64, 16
VOWELS = np.array(((730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480), (570, 840, 2410)))


class Silero(nn.Module):
    """The layers of silero_vad_16k.safetensors, by the names that they have there."""

    def __init__(self):
        super().__init__()
        self.stft_conv = nn.Conv1d(1, 258, 256, 128, bias=False)
        for i, (inputs, outputs, stride) in enumerate(((129, 128, 1), (128, 64, 2), (64, 64, 2), (64, 128, 1))):
            setattr(self, f"conv{i + 1}", nn.Conv1d(inputs, outputs, 3, stride, 1))
        self.lstm_cell, self.final_conv = nn.LSTMCell(128, 128), nn.Conv1d(128, 1, 1)

    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], 128)
        x = torch.stack([x[:, i * CHUNK : (i + 1) * CHUNK + CONTEXT] for i in range(CHUNKS)], 1).flatten(0, 1)[:, None]
        real, imaginary = self.stft_conv(nn.functional.pad(x, (0, 64), "reflect")).split(129, 1)
        x = (real * real + imaginary * imaginary).sqrt()
        for i in range(4):
            x = torch.relu(getattr(self, f"conv{i + 1}")(x))
        for step in x.reshape(-1, CHUNKS, 128).unbind(1):
            h, c = self.lstm_cell(step, (h, c))
        return torch.sigmoid(self.final_conv(torch.relu(h)[:, :, None])).flatten(1)


def voice(rng, time):
    """Four vowels of a voice whose pitch changes."""
    pitch = rng.uniform(90, 250) * (1 + 0.15 * np.sin(2 * np.pi * rng.uniform(2, 5) * time + rng.uniform(0, 6)))
    pulses = np.diff(np.floor(np.cumsum(pitch) / RATE), prepend=0) + rng.normal(0, 0.01, time.size)
    place, sound = np.interp(time, (0, time[-1]), (0, 3)), 0
    for k, formants in enumerate(VOWELS[rng.permutation(len(VOWELS))[:4]]):
        vowel = pulses
        for formant in formants * rng.uniform(0.9, 1.15):
            radius, angle = np.exp(-np.pi * rng.uniform(60, 120) / RATE), 2 * np.pi * formant / RATE
            vowel = lfilter([1 - radius], [1, -2 * radius * np.cos(angle), radius**2], vowel)
        sound += vowel / np.abs(vowel).max() * np.clip(1 - np.abs(place - k), 0, 1)
    return rng.uniform(0.05, 0.5) * sound * (0.6 + 0.4 * np.sin(2 * np.pi * rng.uniform(3, 6) * time))


def sounds(count):
    """Noises and tones, half of them with a voice."""
    rng, time, x = np.random.default_rng(6), np.arange(CHUNKS * CHUNK + CONTEXT) / RATE, []
    truth = np.arange(count) % 2 == 0
    for has_voice in truth:
        noise = lfilter([1], [1, -rng.uniform(0, 0.95)], rng.normal(0, 1, time.size)) * rng.uniform(0.2, 1)
        tone = rng.uniform(0, 2) * np.sin(2 * np.pi * rng.uniform(100, 3000) * time)
        x.append((noise + tone) * rng.uniform(0.001, 0.03) + (voice(rng, time) if has_voice else 0))
    return np.array(x, np.float32), truth


def right(outputs, truth):
    return 100 * ((outputs[0][:, 0] > 0.5) == truth).mean()


def load():
    module, (x, truth) = Silero().eval(), sounds(360)
    module.load_state_dict(safetensors(file_of("silero_vad/data/silero_vad_16k.safetensors")))
    facts = ("silero_vad", "voice activity", "silero-vad 6.2.3", "MIT")
    return Trained(*facts, module, x[:60], x[60:], truth[60:], right, "% right")


MODELS = [Entry("silero_vad", load)]
