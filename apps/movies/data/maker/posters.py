"""The poster of a film: a picture of its genre, and title, year, director and two of the cast set in type."""

from functools import lru_cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from . import draws, jpeg, scenes
from .errors import Problem
from .facts import Film

SIZE = (220, 330)
SCALE = 2
"""It is drawn so much larger, so that edges are smooth."""
BYTES = (8_192, 20_480)
QUALITY = 84

FONTS = {
    "display": ("/usr/share/fonts/opentype/bebas-neue/BebasNeue-Bold.otf", "fonts-bebas-neue"),
    "serif": ("/usr/share/fonts/opentype/ebgaramond/EBGaramond12-Regular.otf", "fonts-ebgaramond"),
    "italic": ("/usr/share/fonts/opentype/ebgaramond/EBGaramond12-Italic.otf", "fonts-ebgaramond"),
    "sans": ("/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf", "fonts-dejavu-core"),
}
"""Files, and the Debian packages that have them."""
STYLES = {
    "Action": ("display",),
    "Horror": ("display", "serif"),
    "Western": ("display",),
    "Comedy": ("display", "sans"),
    "Romantic Comedy": ("serif", "display"),
    "Drama": ("serif", "display"),
}
"""Faces of the title by genre; the others have the first two of `FONTS`."""


@lru_cache(maxsize=512)
def font(name: str, size: int) -> ImageFont.FreeTypeFont:
    path, package = FONTS[name]
    if not Path(path).is_file():
        raise Problem(f"the font {path} is missing; install it: apt-get install {package}")
    return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)


def make(seed: int, film: Film, cast: list[str]) -> bytes:
    """The poster as a JPEG."""
    draw = draws.words(seed, "poster", film.movie)
    width, height = SIZE[0] * SCALE, SIZE[1] * SCALE
    palette = draw.choice(scenes.PALETTES[film.genre])
    painters = scenes.PAINTERS[film.genre]
    painter = scenes.space if film.kind == "Science Fiction" and draw.random() < 0.6 else draw.choice(painters)
    image = scenes.paint(painter, width, height, palette, draw)
    layout = draw.choice((framed, banner, banner, foot, foot))
    layout(image, film, cast, palette, draw.choice(STYLES.get(film.genre, ("display", "serif"))))
    image = image.resize(SIZE, Image.LANCZOS)
    image = scenes.filmed(image, draw.uniform(2, 5), 0.25, draws.arrays(seed, "grain", film.movie))
    return jpeg.bounded(image, QUALITY, *BYTES)


def banner(image: Image.Image, film: Film, cast: list[str], palette: scenes.Palette, face: str) -> None:
    """The title large at the top, over a shade; the small print below."""
    width, height = image.size
    shade(image, 0, round(height * 0.42), palette.sky[0], from_top=True)
    shade(image, round(height * 0.78), height, palette.near, from_top=False)
    pen = ImageDraw.Draw(image)
    ink, small = on(palette.sky[0]), on(palette.near)
    centred(pen, credit(film, cast), font("serif", 24), width, height * 0.035, ink, limit=width * 0.9)
    set_title(pen, film.title, face, width, height * 0.085, height * 0.26, ink)
    last_line(pen, film, width, height * 0.915, small)


def foot(image: Image.Image, film: Film, cast: list[str], palette: scenes.Palette, face: str) -> None:
    """The picture above; the title on a field of colour at the foot."""
    width, height = image.size
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, height * 0.68, width, height), fill=palette.near)
    pen.rectangle((0, height * 0.68, width, height * 0.688), fill=palette.accent)
    ink = on(palette.near)
    set_title(pen, film.title, face, width, height * 0.705, height * 0.17, ink)
    faint = scenes.mixed(palette.near, ink, 0.8)
    centred(pen, credit(film, cast), font("italic", 24), width, height * 0.878, faint, limit=width * 0.92)
    last_line(pen, film, width, height * 0.93, palette.accent if contrast(palette.accent, palette.near) else ink)


def framed(image: Image.Image, film: Film, cast: list[str], palette: scenes.Palette, face: str) -> None:
    """A white border, as of a print, with the title below the picture."""
    width, height = image.size
    paper = scenes.mixed((250, 246, 236), palette.accent, 0.06)
    pen = ImageDraw.Draw(image)
    edge = round(width * 0.055)
    pen.rectangle((0, 0, width, edge), fill=paper)
    pen.rectangle((0, 0, edge, height), fill=paper)
    pen.rectangle((width - edge, 0, width, height), fill=paper)
    pen.rectangle((0, height * 0.7, width, height), fill=paper)
    ink = palette.near
    set_title(pen, film.title, face, width - 2 * edge, height * 0.715, height * 0.165, ink, edge)
    centred(pen, credit(film, cast), font("italic", 24), width, height * 0.884, ink, limit=width * 0.88)
    last_line(pen, film, width, height * 0.935, scenes.mixed(ink, paper, 0.25))


def credit(film: Film, cast: list[str]) -> str:
    return f"{cast[0]}  ·  {cast[1]}"


def last_line(pen: ImageDraw.ImageDraw, film: Film, width: int, y: float, ink: scenes.Colour) -> None:
    """Director and year."""
    year = str(film.year) if film.year else ""
    parts = [part for part in (film.director and f"a film by {film.director}", year) if part]
    centred(pen, "   ".join(parts), font("serif", 26), width, y, ink, limit=width * 0.9)


def set_title(pen, title, face, width, y, height, ink, left=0):
    """The title in as many lines as make it largest, within `width` and `height` from `y` on."""
    text = title.upper() if face == "display" else title
    choices = [broken(text, count) for count in range(1, 5)]
    sizes = [fitting(lines, face, width * 0.9, height) for lines in choices]
    size = max(sizes)
    lines = choices[sizes.index(size)]
    chosen = font(face, size)
    step = line_height(face, size)
    top = y + (height - step * len(lines)) / 2
    for place, line in enumerate(lines):
        pen.text((left + width / 2, top + step * (place + 0.5)), line, font=chosen, fill=ink, anchor="mm")


def broken(text: str, count: int) -> list[str]:
    """In at most `count` lines of about the same length."""
    words = text.split()
    lines, rest = [], len(text)
    for left in range(min(count, len(words)), 0, -1):
        line = [words.pop(0)]
        # Add a word if that brings the line closer to its share of the remaining text.
        while len(words) >= left and abs(len(" ".join([*line, words[0]])) - rest / left) <= abs(
            len(" ".join(line)) - rest / left
        ):
            line.append(words.pop(0))
        if left == 1:
            line += words
        lines.append(" ".join(line))
        rest -= len(lines[-1]) + 1
    return lines


def line_height(face: str, size: int) -> float:
    return size * (0.92 if face == "display" else 1.06)


def fitting(lines: list[str], face: str, width: float, height: float) -> int:
    """The largest size at which the lines fit."""
    at = 100
    widest = max(font(face, at).getlength(line) for line in lines)
    size = int(min(at * width / widest, height / len(lines) / line_height(face, 1), 150))
    return max(size, 14)


def centred(pen, text, chosen, width, y, ink, limit):
    """One line, smaller where it would not fit."""
    length = chosen.getlength(text)
    if length > limit:
        chosen = chosen.font_variant(size=max(int(chosen.size * limit / length), 10), layout_engine=ImageFont.Layout.BASIC)
    pen.text((width / 2, y), text, font=chosen, fill=ink, anchor="mt")


def shade(image: Image.Image, top: int, bottom: int, fill: scenes.Colour, from_top: bool) -> None:
    """Colour that fades out downwards or upwards, so that type can be read on it."""
    size = (image.width, bottom - top)
    ramp = Image.linear_gradient("L").resize(size)
    mask = Image.eval(ramp, (lambda value: round((255 - value) * 0.85)) if from_top else (lambda value: round(value * 0.9)))
    image.paste(Image.new("RGB", size, fill), (0, top), mask)


def luminance(ink: scenes.Colour) -> float:
    return (0.299 * ink[0] + 0.587 * ink[1] + 0.114 * ink[2]) / 255


def contrast(one: scenes.Colour, other: scenes.Colour) -> bool:
    return abs(luminance(one) - luminance(other)) > 0.35


def on(ground: scenes.Colour) -> scenes.Colour:
    """An ink that can be read on a colour."""
    return (250, 246, 236) if luminance(ground) < 0.55 else (26, 22, 24)
