"""Pictures that are drawn: landscapes, cities, stages and signs in the colours of a palette."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

Colour = tuple[int, int, int]
WHITE: Colour = (255, 255, 255)


@dataclass(frozen=True)
class Palette:
    """Colours of a picture, from the top of the sky to what is nearest, and one that stands out."""

    sky: tuple[Colour, Colour, Colour]
    far: Colour
    near: Colour
    accent: Colour


def colour(text: str) -> Colour:
    return int(text[:2], 16), int(text[2:4], 16), int(text[4:], 16)


def palettes(text: str) -> list[Palette]:
    out = []
    for line in text.split("|"):
        top, middle, bottom, far, near, accent = map(colour, line.split())
        out.append(Palette((top, middle, bottom), far, near, accent))
    return out


def mixed(one: Colour, other: Colour, part: float) -> Colour:
    """`one` at 0, `other` at 1."""
    return tuple(round(a + (b - a) * part) for a, b in zip(one, other))


def sky(width: int, height: int, palette: Palette) -> Image.Image:
    """From the top colour by the middle to the bottom."""
    stops = np.array(palette.sky, dtype=float)
    at = np.linspace(0, 1, height)
    column = np.stack([np.interp(at, (0, 0.55, 1), stops[:, channel]) for channel in range(3)], axis=1)
    return Image.fromarray(np.broadcast_to(column[:, None, :].round().astype(np.uint8), (height, width, 3)).copy())


def disc(pen: ImageDraw.ImageDraw, x: float, y: float, radius: float, fill: Colour) -> None:
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)


def outline(pen: ImageDraw.ImageDraw, x: float, y: float, size: float, corners, fill: Colour) -> None:
    """A form by its corners, which are to the right of and below a point, in parts of `size`."""
    pen.polygon([(x + size * right, y + size * below) for right, below in corners], fill=fill)


def trapezoid(pen: ImageDraw.ImageDraw, x: float, one: tuple[float, float], other: tuple[float, float], fill: Colour) -> None:
    """About a vertical line: two heights, and half of the width at each."""
    (y, wide), (end, wider) = one, other
    pen.polygon([(x - wide, y), (x + wide, y), (x + wider, end), (x - wider, end)], fill=fill)


def stroke(pen: ImageDraw.ImageDraw, points, wide: float, fill: Colour, least: int = 1) -> None:
    pen.line(points, fill=fill, width=max(least, round(wide)))


def hills(pen, width, height, base, swing, rough, fill, draw):
    """Down to the lower edge; the upper edge of them is around the height `base`."""
    x = np.linspace(0, width, 90)
    y = np.full_like(x, base)
    for octave in range(1, 6):
        amplitude = swing / octave ** (1.9 - rough)
        y += amplitude * np.sin(x / width * math.tau * octave * draw.uniform(0.6, 1.5) + draw.uniform(0, math.tau))
    pen.polygon([(0, height), *zip(x.tolist(), y.tolist()), (width, height)], fill=fill)


def mountains(pen, width, height, palette, draw):
    """Ridges behind ridges, and a low sun."""
    x, y = width * draw.uniform(0.2, 0.8), height * draw.uniform(0.25, 0.45)
    disc(pen, x, y, min(width, height) * draw.uniform(0.1, 0.2), palette.accent)
    layers, rough = draw.randrange(4, 7), draw.uniform(0, 0.7)
    for layer in range(layers):
        part = layer / (layers - 1)
        base, swing = height * (0.45 + 0.42 * part), height * 0.07 * (1.2 - 0.5 * part)
        hills(pen, width, height, base, swing, rough, mixed(palette.far, palette.near, part), draw)


def city(pen, width, height, palette, draw):
    """Houses with lit windows at night."""
    x, y = width * draw.uniform(0.15, 0.85), height * draw.uniform(0.15, 0.3)
    disc(pen, x, y, min(width, height) * 0.08, mixed(palette.accent, WHITE, 0.5))
    for layer in range(3):
        fill = mixed(palette.far, palette.near, layer / 2)
        lit = mixed(fill, palette.accent, 0.35 + 0.3 * layer)
        x = -draw.uniform(0, 0.1) * width
        while x < width:
            house = width * draw.uniform(0.07, 0.16)
            top = height * (draw.uniform(0.3, 0.62) + 0.12 * layer)
            pen.rectangle((x, top, x + house, height), fill=fill)
            if draw.random() < 0.25:
                pen.rectangle((x + house * 0.47, top - height * 0.05, x + house * 0.53, top), fill=fill)
            step = max(width, height) * 0.018
            for row in range(int((height - top) / step) - 1):
                for column in range(int(house / step) - 1):
                    if draw.random() < 0.22:
                        left, upper = x + step * (column + 0.7), top + step * (row + 0.7)
                        pen.rectangle((left, upper, left + step * 0.45, upper + step * 0.5), fill=lit)
            x += house + draw.uniform(-0.01, 0.02) * width


def sea(pen, width, height, palette, draw):
    """A sun over waves, and a boat."""
    horizon = height * draw.uniform(0.5, 0.62)
    x, radius = width * draw.uniform(0.25, 0.75), min(width, height) * draw.uniform(0.16, 0.26)
    disc(pen, x, horizon - radius * draw.uniform(0.1, 0.9), radius, palette.accent)
    pen.rectangle((0, horizon, width, height), fill=palette.far)
    lines = 26
    for line in range(lines):
        part = line / lines
        y = horizon + (height - horizon) * part**1.4
        half = radius * (0.3 + 0.9 * part) * draw.uniform(0.5, 1.2)
        thick = max(1, height * 0.004 * (1 + 3 * part))
        middle = x + draw.uniform(-0.2, 0.2) * radius
        pen.rectangle((middle - half, y, middle + half, y + thick), fill=mixed(palette.accent, palette.far, 0.15 + 0.5 * part))
    hills(pen, width, height, height * 0.9, height * 0.02, 0.4, palette.near, draw)
    boat, length = width * draw.uniform(0.15, 0.85), width * 0.09
    outline(pen, boat, horizon, length, ((-1, 0), (1, 0), (0.7, 0.35), (-0.7, 0.35)), palette.near)
    outline(pen, boat, horizon, length, ((0, -1.7), (0, -0.1), (0.8, -0.1)), mixed(palette.near, palette.sky[0], 0.25))


def rings(pen, width, height, palette, draw):
    """Rings that turn about a point, and a small figure that falls."""
    x, y = width * draw.uniform(0.35, 0.65), height * draw.uniform(0.35, 0.5)
    count, reach = draw.randrange(9, 15), math.hypot(width, height) * 0.62
    drift = draw.uniform(-0.03, 0.03) * width
    for ring in range(count, 0, -1):
        fill = palette.near if ring % 2 else mixed(palette.accent, palette.sky[0], ring / count * 0.7)
        disc(pen, x + drift * ring * 0.5, y + drift * ring * 0.3, reach * ring / count, fill)
    size = min(width, height) * 0.05
    disc(pen, x, y - size * 1.2, size * 0.42, palette.sky[2])
    outline(pen, x, y, size, ((-0.5, -0.6), (0.5, -0.6), (0.25, 1.3), (-0.25, 1.3)), palette.sky[2])


def rays(pen, width, height, palette, draw):
    """Rays of a sun behind a hill."""
    x, y = width * draw.uniform(0.3, 0.7), height * draw.uniform(0.45, 0.65)
    count, reach, turn = draw.randrange(18, 34, 2), math.hypot(width, height), draw.uniform(0, 1)
    for ray in range(0, count, 2):
        ends = [(ray + turn + part) / count * math.tau for part in (0, 1)]
        corners = [(0, 0), *((math.cos(end), math.sin(end)) for end in ends)]
        outline(pen, x, y, reach, corners, mixed(palette.sky[1], palette.accent, 0.55))
    disc(pen, x, y, min(width, height) * 0.17, palette.accent)
    disc(pen, x, y, min(width, height) * 0.13, mixed(palette.accent, WHITE, 0.45))
    for layer in range(2):
        fill = mixed(palette.far, palette.near, layer)
        hills(pen, width, height, height * (0.72 + 0.12 * layer), height * 0.03, 0.2, fill, draw)


def space(pen, width, height, palette, draw):
    """Stars, a planet with a ring, and its moon."""
    for _ in range(int(width * height / 1500)):
        x, y = draw.uniform(0, width), draw.uniform(0, height)
        size = draw.paretovariate(2.2) * 0.35 * max(width, height) / 400
        disc(pen, x, y, min(size, 3), mixed(palette.sky[1], WHITE, draw.uniform(0.3, 1)))
    x, y = width * draw.uniform(0.3, 0.7), height * draw.uniform(0.35, 0.55)
    radius = min(width, height) * draw.uniform(0.22, 0.34)
    steps = 26
    for step in range(steps):
        # Lit from the upper left: discs that shrink towards it.
        part = step / steps
        aside = radius * 0.32 * part
        disc(pen, x - aside, y - aside, radius * (1 - 0.62 * part), mixed(palette.near, palette.accent, part))
    for ring in range(4):
        out = radius * (1.45 + 0.1 * ring)
        box, fill = (x - out, y - out * 0.28, x + out, y + out * 0.28), mixed(palette.accent, palette.sky[2], ring / 3)
        pen.arc(box, -14, 194, fill=fill, width=max(1, round(radius * 0.04)))
    disc(pen, x + radius * draw.uniform(1.1, 1.5), y - radius * draw.uniform(0.7, 1.1), radius * 0.13, palette.far)


def forest(pen, width, height, palette, draw):
    """Trunks that fade into mist."""
    x, y = width * draw.uniform(0.3, 0.7), height * draw.uniform(0.2, 0.4)
    disc(pen, x, y, min(width, height) * 0.13, mixed(palette.sky[2], WHITE, 0.3))
    for layer in range(5):
        part = layer / 4
        fill = mixed(palette.far, palette.near, part)
        for _ in range(16 - 2 * layer):
            x, trunk = draw.uniform(0, width), width * (0.006 + 0.016 * part) * draw.uniform(0.7, 1.4)
            foot = height * (0.68 + 0.2 * part)
            lean = draw.uniform(-1, 1) * trunk * 2
            pen.polygon(
                [(x - trunk, foot), (x + trunk, foot), (x + lean + trunk * 0.4, 0), (x + lean - trunk * 0.4, 0)], fill=fill
            )
            for _ in range(3):
                y, reach = draw.uniform(0.05, 0.6) * foot, draw.choice((-1, 1)) * width * draw.uniform(0.03, 0.1)
                stroke(pen, [(x + lean * (1 - y / foot), y), (x + reach, y - abs(reach) * 0.6)], trunk * 0.5, fill)
        hills(pen, width, height, height * (0.68 + 0.2 * part), height * 0.015, 0.5, fill, draw)


def house(pen, width, height, palette, draw):
    """A house on a hill under the moon; one window is lit."""
    x, y = width * draw.uniform(0.25, 0.75), height * draw.uniform(0.22, 0.34)
    disc(pen, x, y, min(width, height) * draw.uniform(0.13, 0.22), mixed(palette.accent, WHITE, 0.55))
    for layer in range(3):
        fill = mixed(palette.far, palette.near, layer / 2)
        hills(pen, width, height, height * (0.6 + 0.08 * layer), height * 0.03, 0.3, fill, draw)
    x, size = width * draw.uniform(0.32, 0.62), min(width, height) * 0.2
    foot = height * 0.78
    pen.rectangle((x - size * 0.6, foot - size * 1.1, x + size * 0.6, foot + size), fill=palette.near)
    outline(pen, x, foot, size, ((-0.75, -1.05), (0, -1.75), (0.75, -1.05)), palette.near)
    pen.rectangle((x + size * 0.3, foot - size * 1.75, x + size * 0.45, foot - size * 1.2), fill=palette.near)
    pen.rectangle((x - size * 0.15, foot - size * 0.85, x + size * 0.13, foot - size * 0.5), fill=palette.accent)
    bar = x - size * 0.01
    stroke(pen, [(bar, foot - size * 0.85), (bar, foot - size * 0.5)], size * 0.03, palette.near)
    trunk = width * draw.choice((0.1, 0.88))
    branch(pen, trunk, height * 0.98, -math.pi / 2, height * 0.16, 7, palette.near, draw)


def branch(pen, x, y, angle, length, depth, fill, draw):
    """A bare tree."""
    if not depth:
        return
    tip = x + length * math.cos(angle), y + length * math.sin(angle)
    stroke(pen, [(x, y), tip], length * 0.1, fill)
    for turn in (draw.uniform(0.15, 0.6), -draw.uniform(0.15, 0.6)):
        branch(pen, *tip, angle + turn, length * draw.uniform(0.66, 0.82), depth - 1, fill, draw)


def shapes(pen, width, height, palette, draw):
    """Circles, squares and bars in a grid, as in a print of the twenties."""
    columns = draw.choice((3, 4))
    cell = width / columns
    inks = [palette.accent, palette.far, palette.near, palette.sky[0], mixed(palette.accent, palette.near, 0.5)]
    for row in range(int(height / cell) + 1):
        for column in range(columns):
            x, y, ink, other = column * cell, row * cell, *draw.sample(inks, 2)
            pen.rectangle((x, y, x + cell, y + cell), fill=mixed(ink, palette.sky[2], 0.25))
            form = draw.randrange(6)
            if form == 0:
                disc(pen, x + cell / 2, y + cell / 2, cell * 0.4, other)
            elif form == 1:
                pen.pieslice((x, y, x + 2 * cell, y + 2 * cell), 180, 270, fill=other)
            elif form == 2:
                pen.pieslice((x - cell, y - cell, x + cell, y + cell), 0, 90, fill=other)
            elif form == 3:
                pen.polygon([(x, y + cell), (x + cell, y), (x + cell, y + cell)], fill=other)
            elif form == 4:
                for bar in range(3):
                    pen.rectangle((x, y + cell * (0.1 + 0.32 * bar), x + cell, y + cell * (0.26 + 0.32 * bar)), fill=other)
            else:
                disc(pen, x + cell / 2, y + cell / 2, cell * 0.46, other)
                disc(pen, x + cell / 2, y + cell / 2, cell * 0.2, ink)


def stage(pen, width, height, palette, draw):
    """A curtain, boards, and a light."""
    folds = draw.randrange(9, 15)
    steps = 10
    for fold in range(folds):
        for step in range(steps):
            x = width * (fold + step / steps) / folds
            shade = 0.5 + 0.5 * math.cos(step / steps * math.tau)
            fill = mixed(palette.near, palette.accent, 0.15 + 0.6 * shade)
            pen.rectangle((x, 0, x + width / folds / steps + 1, height), fill=fill)
    floor = height * 0.74
    pen.rectangle((0, floor, width, height), fill=mixed(palette.near, palette.far, 0.4))
    for board in range(9):
        x = width * (board - 4) / 3
        stroke(pen, [(width / 2 + x * 0.45, floor), (width / 2 + x, height)], width * 0.004, palette.near)
    x, wide = width * draw.uniform(0.35, 0.65), width * 0.24
    pen.ellipse((x - wide, height * 0.8, x + wide, height * 0.9), fill=mixed(palette.sky[2], WHITE, 0.5))
    stand = height * 0.85
    stroke(pen, [(x, stand), (x, height * 0.5)], width * 0.012, palette.near, least=2)
    pen.ellipse((x - width * 0.05, stand - height * 0.008, x + width * 0.05, stand + height * 0.008), fill=palette.near)
    head = width * 0.03
    pen.rounded_rectangle((x - head, height * 0.44, x + head, height * 0.51), radius=head, fill=palette.near)


def mesas(pen, width, height, palette, draw):
    """Table mountains, and a rider."""
    disc(pen, width * draw.uniform(0.3, 0.7), height * 0.42, min(width, height) * draw.uniform(0.2, 0.3), palette.accent)
    for layer in range(3):
        fill = mixed(palette.far, palette.near, layer / 2.6)
        base = height * (0.6 + 0.09 * layer)
        for _ in range(2):
            x, wide, tall = draw.uniform(0, width), width * draw.uniform(0.1, 0.22), height * draw.uniform(0.08, 0.2)
            pen.polygon(
                [(x - wide, base), (x - wide * 0.62, base - tall), (x + wide * 0.62, base - tall), (x + wide, base)], fill=fill
            )
        hills(pen, width, height, base, height * 0.008, 0.5, fill, draw)
    x, foot, size = width * draw.uniform(0.25, 0.75), height * 0.83, min(width, height) * 0.075
    pen.ellipse((x - size, foot - size * 1.1, x + size * 0.8, foot - size * 0.4), fill=palette.near)
    for leg in (-0.8, -0.5, 0.35, 0.65):
        ends = [(x + size * leg, foot - size * 0.6), (x + size * (leg + 0.1), foot + size * 0.3)]
        stroke(pen, ends, size * 0.14, palette.near, least=2)
    outline(pen, x, foot, size, ((0.5, -0.8), (1.2, -1.6), (1.5, -1.35), (0.8, -0.5)), palette.near)
    pen.rectangle((x - size * 0.3, foot - size * 1.9, x + size * 0.15, foot - size), fill=palette.near)
    disc(pen, x - size * 0.07, foot - size * 2.1, size * 0.22, palette.near)
    pen.ellipse((x - size * 0.45, foot - size * 2.3, x + size * 0.3, foot - size * 2.15), fill=palette.near)


def road(pen, width, height, palette, draw):
    """A road to the horizon."""
    horizon, x = height * draw.uniform(0.45, 0.58), width * draw.uniform(0.4, 0.6)
    disc(pen, x + width * draw.uniform(-0.3, 0.3), horizon - height * 0.05, min(width, height) * 0.14, palette.accent)
    hills(pen, width, height, horizon - height * 0.03, height * 0.02, 0.6, palette.far, draw)
    pen.rectangle((0, horizon, width, height), fill=mixed(palette.far, palette.near, 0.55))
    trapezoid(pen, x, (horizon, width * 0.01), (height, width * 0.55), palette.near)
    for mark in range(9):
        near, end = ((mark + part) / 9 for part in (0.15, 0.65))
        one, other = (horizon + (height - horizon) * at**2.2 for at in (near, end))
        trapezoid(pen, x, (one, width * 0.014 * near**2), (other, width * 0.014 * end**2), palette.accent)
    for pole in range(5):
        at = (0.25 + pole / 5.5) ** 2.2
        side, foot = x + width * 0.75 * at + width * 0.02, horizon + (height - horizon) * at * 0.8
        tall = height * 0.55 * at + height * 0.03
        stroke(pen, [(side, foot), (side, foot - tall)], width * 0.014 * at, palette.near)
        beam = foot - tall * 0.9
        stroke(pen, [(side - tall * 0.12, beam), (side + tall * 0.12, beam)], width * 0.01 * at, palette.near)


def heads(pen, width, height, palette, draw):
    """Two who look past each other."""
    disc(pen, width * 0.5, height * 0.42, min(width, height) * draw.uniform(0.34, 0.42), palette.accent)
    for side, fill in ((-1, mixed(palette.far, palette.near, 0.3)), (1, palette.near)):
        x, y = width * 0.5 + side * width * draw.uniform(0.1, 0.16), height * draw.uniform(0.42, 0.5)
        size = min(width, height) * draw.uniform(0.13, 0.16)
        pen.ellipse((x - size, y - size * 1.3, x + size, y + size * 1.3), fill=fill)
        # The nose, away from the other one.
        outline(pen, x, y, size, ((side * 0.9, -0.35), (side * 1.3, 0.25), (side * 0.85, 0.4)), fill)
        pen.rectangle((x - size * 0.42, y + size, x + size * 0.42, y + size * 2), fill=fill)
        pen.ellipse((x - size * 2.2, y + size * 1.7, x + size * 2.2, y + size * 6), fill=fill)
        hair = (x - size * 1.12, y - size * 1.45, x + size * 1.12, y + size * 0.9)
        pen.pieslice(hair, 180 - 25 * (side > 0), 360 + 25 * (side < 0), fill=fill)
    pen.rectangle((0, height * 0.93, width, height), fill=palette.near)


Painter = Callable[[ImageDraw.ImageDraw, int, int, Palette, random.Random], None]

PAINTERS: dict[str, tuple[Painter, ...]] = {
    "Action": (city, road, rays, rings),
    "Adventure": (mountains, sea, space, mesas, rays),
    "Black Comedy": (shapes, rings, house, heads),
    "Comedy": (shapes, rays, stage, road, heads),
    "Concert/Performance": (stage, rays),
    "Documentary": (shapes, mountains, sea, forest),
    "Drama": (mountains, sea, heads, road, forest, city, shapes),
    "Horror": (house, forest, rings),
    "Musical": (stage, rays, shapes),
    "Romantic Comedy": (heads, sea, rays, stage),
    "Thriller/Suspense": (rings, city, forest, road, house),
    "Western": (mesas, mountains, road),
}

NIGHT = "0b1026 1d2f5f 4d6fa3 24365f 070b1a f2c14e|14141f 2b2340 6b3a5b 33203f 0d0a14 ff6b4a|06181f 0f3a44 3f7d78 174a50 041014 e8d9a0"
DUSK = "2d1e4f 9b3d6e f08a5d 6b2f5b 1e1233 ffd166|1b2a49 7a4b6f f3a683 4b3b64 151a30 ffe3a3|3a0f1f a02c3d f2995d 6d1b2e 1d0810 ffcf70"
DAY = "7fc8d9 bfe3dd f7f0d0 4f9aa6 173f4f e4572e|f6d8ae f2b880 e98a6b a44a3f 2e1f27 17707d|a8d5ba dcecc9 fff6d5 5b8e7d 22404a f25c54"
PALE = "e8e3d3 d8cdb4 f4efe2 a59a86 2f2d2a c8402f|dfe6e9 c3d0d6 f2f5f5 8298a3 22303a d99a2b|efe0d0 dcb9a0 f7eee4 a5715a 33211b 2c6e77"
BLOOD = "0a0a0c 2a0d12 5e1a1f 2b0f14 050406 d7263d|0c1210 1c2b25 4b5d4c 1b2a22 040705 c8d96f|101018 262238 5a4a6a 262036 07060c e9e4d0"
STAGE = "2b0b17 7d1538 d9475a 5a1030 18060d ff9f1c|0f1b3d 274a9b 7fa7e0 203a78 081026 f4d35e|25123a 6a2c91 d178c6 45206a 12081f 3ddbd9"
DUST = "f2c57c e07a3f b23a2e 8c3a27 2a100c ffe8b0|7fb5b5 f1d6a8 e39b5a a65a35 33180f c33c26|3b1c32 9e3d47 f0a35e 6b2a38 1b0c14 ffd98a"

PALETTES = {
    "Action": palettes(f"{NIGHT}|{DUSK}"),
    "Adventure": palettes(f"{DUSK}|{DAY}|{NIGHT}"),
    "Black Comedy": palettes(f"{PALE}|{BLOOD}"),
    "Comedy": palettes(f"{DAY}|{STAGE}"),
    "Concert/Performance": palettes(STAGE),
    "Documentary": palettes(f"{PALE}|{DAY}"),
    "Drama": palettes(f"{DUSK}|{PALE}|{DAY}|{NIGHT}"),
    "Horror": palettes(BLOOD),
    "Musical": palettes(STAGE),
    "Romantic Comedy": palettes(f"{DAY}|{DUSK}"),
    "Thriller/Suspense": palettes(f"{NIGHT}|{BLOOD}"),
    "Western": palettes(DUST),
}


def paint(painter: Painter, width: int, height: int, palette: Palette, draw: random.Random) -> Image.Image:
    """A picture of this size. It is drawn larger where edges are to be smooth: by who calls."""
    image = sky(width, height, palette)
    painter(ImageDraw.Draw(image), width, height, palette, draw)
    return image


def filmed(image: Image.Image, grain: float, vignette: float, random_: np.random.Generator) -> Image.Image:
    """With grain (standard deviation of a level of 255) and darker corners (part that the corners lose)."""
    pixels = np.asarray(image, dtype=np.float32)
    height, width = pixels.shape[:2]
    x, y = np.linspace(-1, 1, width, dtype=np.float32), np.linspace(-1, 1, height, dtype=np.float32)
    light = 1 - vignette / 2 * (x[None, :] ** 2 + y[:, None] ** 2)
    noise = random_.standard_normal((height, width), dtype=np.float32) * grain
    return Image.fromarray(np.clip(pixels * light[:, :, None] + noise[:, :, None], 0, 255).astype(np.uint8))


def softened(image: Image.Image, radius: float) -> Image.Image:
    """Out of focus."""
    return image.filter(ImageFilter.GaussianBlur(radius))
