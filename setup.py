"""Build the package; everything but its long description is in pyproject.toml.

README.md links to files of the checkout. On the page of the package such links would lead nowhere, so there they become
addresses in the repository that pyproject.toml names.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent


def package_page(readme: str, repository: str) -> str:
    """Return the README with links to pages and pictures of the repository."""
    readme = re.sub(r'(<img src=")(?!https:)', rf"\1{repository}/raw/main/", readme)
    return re.sub(r"\]\((?!https:|#)", f"]({repository}/blob/main/", readme)


if __name__ == "__main__":
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = package_page((ROOT / "README.md").read_text(encoding="utf-8"), project["urls"]["Repository"])
    setup(long_description=text, long_description_content_type="text/markdown")
