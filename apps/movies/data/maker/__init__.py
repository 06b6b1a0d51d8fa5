"""Makes the data set of the movie application; `make.py` beside this package is the program."""
