"""Optional packages are imported, or refused by one line that names their extra."""

import sys

import pytest

from certify.errors import UserError
from certify.optional import import_optional


def test_an_installed_module_is_imported() -> None:
    assert import_optional("json.decoder", "sources") is sys.modules["json.decoder"]


def test_a_missing_package_is_named_with_its_extra() -> None:
    with pytest.raises(UserError, match=r"^needs no_such_package; install the extra 'report'$"):
        import_optional("no_such_package.part", "report")
