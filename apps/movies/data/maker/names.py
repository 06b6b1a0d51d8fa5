"""Names of persons who do not exist."""

import random

FIRST = """Ada Adele Agnes Albin Alba Alma Amara Anders Anika Anselm Antonia Ari Arlo Astrid August Aurelia Beatriz Benedikt
Bianca Boris Brigid Bruno Camila Carla Caspar Cecilia Cedric Chiara Clara Clement Cora Cosima Dagmar Dalia Damian Daria
Davor Delia Desmond Dina Dorian Edda Edgar Eduardo Elena Elias Elif Elsa Emeric Emil Enid Enzo Esme Esther Etta Eugen
Fabian Farah Felix Fenna Fidel Fiona Flora Franka Freya Gaia Gideon Gilda Greta Gustav Hanna Harun Hedda Helene Henrik
Hugo Ida Ines Ingrid Irina Isaac Ivo Jaro Jasper Joana Jonas Judit Julius Kaia Karim Katya Keiko Kenji Kira Klaus Lara
Lasse Laszlo Leila Leon Levi Linnea Livia Lorenzo Lotte Lucian Luise Mads Magnus Maja Malik Marek Marisol Marta Matteo
Maud Mika Milan Mina Mira Nadia Naomi Nestor Niko Nina Noor Odile Olaf Olga Omar Oona Orla Oskar Paloma Pavel Petra
Priya Quentin Rafael Ragna Rania Remy Renata Rosa Ruben Runa Sabine Salim Samira Selma Silvio Simone Sofia Soren Stella
Sunniva Tamar Tariq Teresa Thea Tilda Tomas Tove Ulrika Uma Valentin Vera Viggo Viktor Vita Wanda Wilma Xenia Yara Yusuf
Zelda Zofia Zora""".split()

LAST = """Abara Aldana Almeida Andrade Arden Ashby Atwell Balint Barros Bauer Bellini Berger Birch Blom Bonnet Brandt Calder
Castell Cavallo Chandra Corbin Costa Cross Dahl Dalton Danso Darrow Delgado Demir Dorn Dufour Eckhart Egede Eklund Elmore
Endo Engel Escobar Eskola Fabre Falk Farrow Ferreira Finch Fontaine Forsberg Fuchs Galan Garnier Gilmore Grimaldi Grove
Haddad Hale Halvorsen Hartmann Hawke Hayashi Heller Hidalgo Holm Horvath Ibarra Ilves Iversen Jansen Jarvis Jokinen
Kalman Kapoor Karlsen Keller Kimura Klein Kovacs Krause Lacroix Lang Larsen Laurent Lehmann Lindqvist Lombardi Lorca Lund
Madsen Marchetti Marin Marlowe Mbeki Meier Mendes Mercier Molnar Monroe Moreau Moretti Mori Nakano Navarro Nemeth Nilsson
Norwood Novak Nyberg Oakes Okafor Oliveira Orlov Ortega Osei Palmer Pavlik Pereira Petrov Pike Prado Quist Rahimi Ramos
Ravel Reyes Ricci Rojas Romano Rossi Rowe Sandoval Sato Schilling Serrano Silva Sloan Soares Sorel Stahl Steiner Storm
Sundberg Szabo Takeda Tanaka Teixeira Thorne Toth Tremblay Ueda Valdez Varga Vasquez Vega Vidal Vogel Voss Wagner Walsh
Weiss Wexler Winter Wolff Yamada Yilmaz York Zamora Zeller Ziegler""".split()


def distinct(draw: random.Random, count: int) -> list[str]:
    """So many names, no two of which are the same."""
    names, seen = [], set()
    while len(names) < count:
        name = f"{draw.choice(FIRST)} {draw.choice(LAST)}"
        if name in seen:
            # If names run out, a middle initial makes more.
            name = f"{name.split()[0]} {chr(65 + draw.randrange(26))}. {name.split()[1]}"
        if name not in seen:
            seen.add(name)
            names.append(name)
    return names
