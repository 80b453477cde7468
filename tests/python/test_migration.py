"""The pages that lead over from other loaders: both programs run, theirs where the library is installed (tests/peers.sh)."""

import pages
import pytest
from pages import name_of


@pytest.mark.parametrize("page", pages.that_run("docs/from/*.md"), ids=name_of)
def test_both_programs_of_a_page_run(page, tmp_path):
    pages.run_page(page, tmp_path, name_of(page))
