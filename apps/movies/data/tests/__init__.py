"""Tests of the maker: `/usr/bin/python3 -B -m unittest` in the folder above. They share one small data set."""
