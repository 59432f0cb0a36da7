"""Hook of mkdocs: where code in a line of text may break.

Browsers break code after hyphens, and anywhere in a table. Here it breaks at spaces and after the marks that join the
words of paths, names and signatures, so options and words stay whole. `docs/site/site.css` forbids all other breaks.
"""

import re
from typing import Any

_CODE = re.compile(r"(?<=<code>)(?<!<pre><code>)(?<!<span></span><code>)[^<]+(?=</code>)")  # not a block
_JOINT = re.compile(r"(?<=\S[\s/|,=(])(?=\S)|(?<=[^\s_]_)(?=[^\s_])")


def on_page_content(html: str, **_: Any) -> str:
    """Return the HTML of a page with a mark at each place where code may break."""
    return _CODE.sub(lambda code: _JOINT.sub("<wbr>", code[0]), html)
