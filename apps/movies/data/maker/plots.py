"""What a film is about, from a grammar: words of its genre, its cast and a place."""

import random

from . import draws
from .facts import Film

WORDS = (60, 200)
"""Of a plot. Source: the lengths of summaries in catalogues of films [ours]."""

PLACES = """a harbour town that the ferries no longer serve|a valley cut off by snow|the last suburb before the desert
a city under curfew|an island of fishermen and smugglers|a border town with two mayors|a mining camp in the high north
the back rooms of a grand hotel|a village that is to be flooded for a dam|an old theatre about to be sold
a railway junction far from anywhere|the night shift of a hospital|a boarding school by the sea|a tower block with one lift
a market square in late summer|a research station on the ice|a river steamer on its final run|a court house in the provinces
a newspaper with one week left|a vineyard in the year of the great frost""".replace("\n", "|").split("|")

ROLES = {
    "Action": "a former bodyguard|a disgraced pilot|a bomb disposal expert|a courier with one job left|a retired sniper",
    "Adventure": "a cartographer|a stowaway|a captain without a ship|a young archaeologist|a tracker who trusts no map",
    "Black Comedy": "an undertaker in debt|a hit man with hay fever|a widow of three husbands|an honest tax inspector",
    "Comedy": "a wedding planner|a failed magician|a substitute teacher|the worst waiter in town|an overconfident lodger",
    "Concert/Performance": "a singer between two tours|a drummer on his last night|a conductor who lost his score",
    "Documentary": "a beekeeper|a retired engineer|a choir master|the keeper of an archive|a long-distance driver",
    "Drama": "a piano tuner|a judge about to retire|a nurse|a carpenter who came home|a translator|an estranged daughter",
    "Horror": "a night watchman|a new tenant|a medium who does not believe|a sleepless father|the only survivor",
    "Musical": "a chorus girl|a tap dancer|a songwriter without a song|a barber with a golden voice",
    "Romantic Comedy": "a florist|a divorce lawyer|a travel writer who hates to travel|a baker|a best man with a secret",
    "Thriller/Suspense": "a locksmith|a forensic accountant|a witness|a detective on leave|a radio operator",
    "Western": "a sheriff without a town|a horse doctor|a stage driver|a rancher's widow|a gambler who wants to stop",
}

WANTS = {
    "Action": "has until dawn to bring a hostage across the city|must steal back what was stolen first",
    "Adventure": "sets out to find a pass that is on no map|follows a dead man's diary to the end of the river",
    "Black Comedy": "tries to get rid of a body that keeps being found|inherits a fortune and all its creditors",
    "Comedy": "has to pretend for one weekend to be a duke|rents the same room to two strangers",
    "Concert/Performance": "plays the one evening that was never recorded|gathers the old band for a last concert",
    "Documentary": "looks back on forty years of work that few have seen|shows the crew what the brochures leave out",
    "Drama": "returns for a funeral and finds a house full of unpaid letters|takes in a child whom the village avoids",
    "Horror": "hears the same three knocks each night|finds a room that is in none of the plans",
    "Musical": "writes a show for a theatre that has already been sold|falls for the voice behind a curtain",
    "Romantic Comedy": "bets against love and loses within a week|keeps meeting the one person to avoid",
    "Thriller/Suspense": "opens a safe and wishes it had stayed shut|recognises a voice on a recording",
    "Western": "rides in to sell some horses and stays for a trial|has six days to cross the salt flats",
}

SECOND = """{b}, {role2}, has reasons of {own2} own to help, and better ones not to.|Only {b}, {role2}, seems to know more.
The one ally is {b}, {role2}, who has never told the whole truth.|Then {b}, {role2}, arrives with a very different story."""
TURN = """What begins as a favour soon becomes a debt.|Each answer costs more than the one before it.
By the second night, no one is where they said they would be.|The past, it turns out, has kept all of its receipts.
A letter that was meant for another changes the rules.|Old loyalties break, and new ones are not yet tested.
When the weather turns, so does the luck of everyone involved."""
THIRD = """{c} watches from a distance and waits for a mistake.|{c} wants the same thing and got there first.
Meanwhile {c} has made an offer that cannot be refused for long.|In the end it is {c} who has to choose a side."""
GENRE = {
    "Action": "Cars burn, bridges fall, and the clock does not stop.|The chase leads over roofs, through tunnels and back.",
    "Adventure": "There are storms, false guides and one very real treasure.|Beyond the last village the real journey begins.",
    "Black Comedy": "It gets worse, politely.|The funeral is the funniest part.",
    "Comedy": "Doors slam, trousers tear and dinner is served four times.|The misunderstanding could be cleared up in a minute.",
    "Concert/Performance": "Nineteen songs, two encores, no interval.|The cameras stay close and the sound is raw.",
    "Documentary": "The film listens more than it explains.|Letters, tapes and home movies fill in what is not said.",
    "Drama": "Nothing is solved by talking, and nothing without it.|Small gestures weigh more than the great words.",
    "Horror": "The lights go out one by one.|What is in the cellar has been patient for a long time.",
    "Musical": "There is a number for each heartbreak and a finale for them all.|Even the quarrels have a rhythm.",
    "Romantic Comedy": "They agree on nothing but the music.|Two trains, one umbrella and a wrong number do the rest.",
    "Thriller/Suspense": "Every door has been opened before.|A stranger has been in the flat, and nothing is missing.",
    "Western": "Dust settles, scores do not.|There is one well, and two men who claim it.",
}
KIND = {
    "Science Fiction": "The machines have begun to keep secrets, and the sky is no longer empty.",
    "Fantasy": "Beneath the ordinary streets lies another country, with laws of its own.",
    "Super Hero": "Powers that were meant for good draw the wrong kind of attention.",
    "Historical Fiction": "Around them an age comes to its end, and few notice in time.",
    "Dramatization": "It happened much like this, and the papers told it differently.",
    "Kids Fiction": "Grown-ups are of no use, so the children make a plan.",
    "Contemporary Fiction": "It could be any town, and any of the neighbours.",
}
END = """Before it is over, {a} has to decide what is worth keeping.|What is left is a choice between the truth and a home.
{a} and {b} meet a last time, and one of them walks away.|The final hour answers one question and asks a better one.
Not everyone who came will leave.|It ends where it began, with a door left open."""
MORE = """A photograph from {year} hides the key to it all.|Rumours run ahead of them from house to house.
Money changes hands, and so does a small brass key.|A stranger keeps asking for a train that does not exist.
For a moment, in the rain, everything seems possible.|The neighbours see all of it and say nothing.
Nights grow longer and tempers shorter.|An old song on the radio brings it all back.
Twice they could have turned around.|A promise made in jest has to be kept in earnest.
Somewhere a telephone rings and goes on ringing.|The map is right; it is the country that has changed."""


def options(text: str) -> list[str]:
    return text.replace("\n", "|").split("|")


def write(seed: int, film: Film, cast: list[str]) -> str:
    """The plot of a film; `cast` are names in the order of the credits."""
    draw = draws.words(seed, "plot", film.movie)
    roles = draw.sample(options(ROLES[film.genre]), 2)
    a, b, c = cast[0], cast[1], cast[2]
    slots = {
        "a": a.split()[-1],
        "b": b,
        "c": c,
        "role2": roles[1],
        "own2": "their",
        "year": str(max(film.year, 1920) - draw.randrange(8, 30)),
    }
    place = draw.choice(PLACES)
    sentences = [
        f"In {place}, {roles[0]} ({a}) {draw.choice(options(WANTS[film.genre]))}.",
        draw.choice(options(SECOND)),
        *draw.sample(options(TURN), 2),
        draw.choice(options(THIRD)),
        draw.choice(options(GENRE[film.genre])),
    ]
    if film.kind in KIND:
        sentences.append(KIND[film.kind])
    end = draw.choice(options(END))
    target = draw.randrange(WORDS[0] + 20, WORDS[1] - 25)
    spare = [*draw.sample(options(MORE), 12), *options(TURN), *options(GENRE[film.genre])]
    for sentence in spare:
        if length(sentences, end) >= target:
            break
        if sentence not in sentences:
            sentences.insert(draw.randrange(2, len(sentences) + 1), sentence)
    text = " ".join([*sentences, end]).format_map(slots)
    return signed(text, film, draw)


def length(sentences: list[str], end: str) -> int:
    return sum(len(sentence.split()) for sentence in sentences) + len(end.split())


def signed(text: str, film: Film, draw: random.Random) -> str:
    """With the director, where one is known."""
    if not film.director:
        return text
    form = draw.choice(("Directed by {}.", "A film by {}.", "{} directs."))
    return f"{text} {form.format(film.director)}"
