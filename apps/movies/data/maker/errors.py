"""What ends the program with a message and no trace."""


class Problem(Exception):
    """Something that the user can mend: the thing, what was given, the limit, what to do."""
