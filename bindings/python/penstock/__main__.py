"""`python -m penstock`: the penstock command."""

from ._command import main

if __name__ == "__main__":
    main()
