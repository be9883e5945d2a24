"""`python -m dplitmus` is the same as `dplitmus`."""

from dplitmus.cli import main

if __name__ == "__main__":
    main()
