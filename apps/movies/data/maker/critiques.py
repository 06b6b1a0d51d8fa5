"""Texts of reviews that fit their stars."""

from . import draws
from .facts import Film
from .plots import options

WORDS = (20, 150)
"""Of a text."""

OPEN = {
    0: """I wanted to like {title} and gave up after half an hour.|There is very little to be said for {title}.
{title} is a waste of a good cast.|How a script like this one was ever filmed is beyond me.|Two hours that I will not get back.""",
    1: """{title} has its moments, but not enough of them.|I had hoped for more from {title}.
A film of two halves, and only one of them works.|Not bad, not good, soon forgotten.|{title} never decides what it wants to be.""",
    2: """{title} is a solid film with a few rough edges.|I enjoyed {title} more than I had expected.
Good, honest {genre}, well told.|There is a lot to like in {title}.|Not perfect, but I would watch {title} again.""",
    3: """{title} is one of the best films that I know.|I have seen {title} four times and it only gets better.
A masterpiece of {genre}, and I do not use the word lightly.|Rarely has {genre} been this good.
Everything in {title} is where it should be.|If you see one film this year, let it be {title}.""",
}
MIDDLE = {
    0: """The dialogue sounds as if it had never been said aloud.|{actor} looks bored, and who can blame the cast.
The pace is dreadful and the ending is worse.|You can see every turn coming a mile off.|The music tells you what to feel because nothing else does.
Not even the camera seems interested.|The jokes are old and the tears are bought.|By the second act I was counting the lamps in the room.""",
    1: """{actor} does what can be done with the part.|The first half drags, the second one rushes.
A few scenes are lovely, and the rest is filler.|It looks better than it is written.|The ending does not follow from what comes before.
Half an hour less would have helped.|I liked the music; I cannot remember the plot.|It is all right for a rainy evening.""",
    2: """{actor} is very good here.|The camera work is calm and precise.|The story takes its time, and it pays off.
Some of the side characters deserved more room.|The middle sags a little, but the last act makes up for it.
It is funnier than the trailer suggests.|The score fits without shouting.|Small things go wrong, and I forgave all of them.""",
    3: """{actor} has never been better.|Not one scene is too long.|The ending left the whole room silent.
Every line of the script earns its place.|The light, the music, the cutting: all of it belongs together.
I noticed something new each time.|It made me laugh, and then it broke my heart.|You forget that you are watching a film.
Years later I still think about the last ten minutes.""",
}
DETAIL = """I saw it in {place}.|The version that I watched was the restored one.|{actor} and {other} share only three scenes, which is a pity.
It was my first film with {other}.|My neighbour had recommended it.|We talked about it all the way home.
The picture quality of the stream was fine.|It is a film from {year}, and you can tell by the titles.
I watched it with my parents, who had seen it when it came out.|The poster promises something else entirely.
The scene on the stairs is famous for a reason.|As {genre} goes, it keeps the rules and breaks one of them."""
PLACE = """a small cinema with wooden seats|an open-air screening|a hotel room far from home|a packed hall
the front row, by mistake|two evenings, because the children woke up"""
DIRECTOR = {
    0: "{director} has made better films, and I hope will again.",
    1: "{director} knows how to start a film, less so how to end it.",
    2: "{director} keeps a steady hand throughout.",
    3: "{director} is at the height of the art here.",
}
CLOSE = {
    0: "Avoid it.|I cannot recommend it.|Save the money.|{stars} of 10, and that is for the costumes.|Never again.",
    1: "See it if nothing else is on.|{stars} of 10.|It could have been more.|Once is enough.",
    2: "Recommended.|{stars} of 10 from me.|Well worth the evening.|I will look for more of this kind.",
    3: "See it.|{stars} of 10, without a doubt.|It stays with you.|I have already lent it to three friends.|Unmissable.",
}


def band(stars: int) -> int:
    """0: poor (1 to 4), 1: middling (5, 6), 2: good (7, 8), 3: great (9, 10)."""
    return 0 if stars <= 4 else 1 if stars <= 6 else 2 if stars <= 8 else 3


def write(seed: int, review: int, film: Film, cast: list[str], stars: int) -> str:
    """The text of a review."""
    draw = draws.words(seed, "review", review, film.movie)
    at = band(stars)
    actors = draw.sample(cast[:4], 2)
    slots = {
        "title": film.title,
        "genre": spoken(film.genre),
        "actor": actors[0],
        "other": actors[1],
        "director": film.director,
        "stars": stars,
        "year": film.year,
        "place": draw.choice(options(PLACE)),
    }

    def fill(sentence: str) -> str:
        return sentence.format_map(slots)

    # Most are short.
    target = min(WORDS[0] + 5 + int(draw.lognormvariate(3.2, 0.75)), WORDS[1] - 10)
    opening = fill(draw.choice(options(OPEN[at])))
    close = fill(draw.choice(options(CLOSE[at])))
    body = options(MIDDLE[at]) + options(DETAIL)
    if film.director:
        body.append(DIRECTOR[at])
    draw.shuffle(body)
    sentences, count = [opening], len(opening.split()) + len(close.split())
    for sentence in map(fill, body):
        if count >= target:
            break
        if count + len(sentence.split()) <= WORDS[1]:
            sentences.append(sentence)
            count += len(sentence.split())
    return " ".join([*sentences, close])


def spoken(genre: str) -> str:
    return genre.lower().replace("thriller/suspense", "suspense").replace("concert/performance", "concert film")
