#!/usr/bin/python3
"""Checks a data set: ./check.py OUT compares each file with manifest.json, and the tables with each other."""

import sys

sys.dont_write_bytecode = True

if __name__ == "__main__":
    from make import begin

    begin()
    from maker.checks import main

    sys.exit(main(sys.argv[1:]))
