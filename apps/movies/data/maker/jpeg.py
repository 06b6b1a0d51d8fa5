"""JPEG files of a wanted size."""

import io

from PIL import Image

QUALITIES = (30, 95)
"""Below the first one blocks show; above the last one files grow and no picture gets better. Source: Pillow's manual."""


def bounded(image: Image.Image, quality: int, least: int, most: int) -> bytes:
    """The picture in `least` to `most` bytes, as far as quality alone can bring it there; at `quality` if that does."""
    low, high = QUALITIES
    data = encoded(image, quality)
    while not least <= len(data) <= most and low <= high:
        if len(data) > most:
            high = quality - 1
        else:
            low = quality + 1
        quality = (low + high) // 2
        data = encoded(image, quality)
    return data


def encoded(image: Image.Image, quality: int) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality, optimize=True)
    return out.getvalue()
