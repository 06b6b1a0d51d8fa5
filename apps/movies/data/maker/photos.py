"""Photos of a film: drawn scenes as through a camera, with sizes of a heavy tail."""

import math

import numpy as np
from PIL import Image

from . import draws, jpeg, scenes
from .facts import Film

BYTES = (5_120, 61_440)
"""Of a photo."""
MEDIAN, SIGMA = 11_500, 0.6
"""Of the wanted bytes, whose logarithm is normal: the mean is 13.8 kB, and 1 of 370 would be more than 60 kB."""
ALL = 262_144
"""Bytes of the photos of a film, so that the page in base64, with poster and texts, stays below 400 KiB."""
QUALITY = 80
BYTES_A_PIXEL = 0.135
"""Of these pictures at this quality; measured."""
ASPECTS = (16 / 9, 16 / 9, 2.35, 1.5)


def make(seed: int, film: Film, count: int) -> list[bytes]:
    """The photos of a film, number 0 first."""
    random = draws.arrays(seed, "photos", film.movie)
    wanted = np.clip(random.lognormal(math.log(MEDIAN), SIGMA, size=count), *BYTES)
    wanted *= min(1, 0.85 * ALL / wanted.sum())
    return [one(seed, film, number, int(size), random) for number, size in enumerate(wanted)]


def one(seed: int, film: Film, number: int, size: int, random: np.random.Generator) -> bytes:
    draw = draws.words(seed, "photo", film.movie, number)
    palette = draw.choice(scenes.PALETTES[film.genre])
    painter = draw.choice(scenes.PAINTERS[film.genre] + scenes.PAINTERS["Drama"])
    aspect = draw.choice(ASPECTS)
    height = max(round(math.sqrt(size / BYTES_A_PIXEL / aspect) / 8) * 8, 96)
    width = round(height * aspect / 8) * 8
    # Edges of large ones are smooth enough when drawn a little larger.
    scale = 2 if width < 480 else 1.5
    image = scenes.paint(painter, round(width * scale), round(height * scale), palette, draw)
    if draw.random() < 0.2:
        image = scenes.softened(image, width * scale * 0.004)
    image = image.resize((width, height), Image.BILINEAR, reducing_gap=2)
    if draw.random() < 0.15:
        image = image.convert("L").convert("RGB")
    image = scenes.filmed(image, draw.uniform(3, 7), draw.uniform(0.2, 0.5), random)
    return jpeg.bounded(image, QUALITY, BYTES[0], min(BYTES[1], max(2 * size, BYTES[0])))
