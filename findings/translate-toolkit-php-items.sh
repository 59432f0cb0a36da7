#!/usr/bin/env bash
# po2php leaves items out of a PHP array: texts with a variable, joined texts, numbers; and turns "\$" into a variable.
#
# Guess: `php2po`, then `po2php` with the same file as template and no translation, gives a file with the same values;
#        what is no text stands there as it was, as with `po2json`, and quotes and escapes of PHP come back.
# Miss:  the array is written anew of what was read, and only plain texts were. An item with "{$name}" or a
#        concatenation, true, null and constants are not in the new file, and not in the PO file, so no translator can
#        miss them. A text that follows such an item gets its double quotes, and "\$" loses its backslash: in both texts
#        the name behind the dollar sign is now a variable, which PHP takes for empty. The exit code is 0 and there is
#        no message. A program that has such an array for each language loses these items in all but the first.
. "$(dirname "$0")/environment.sh" translate-toolkit==3.20.4 phply==1.2.6
cat >en.php <<'PHP'
<?php
return [
    'title' => 'House',
    'price' => "Only \$price",
    'hello' => "Hello {$name}",
    'variable' => 'write $name',
    'joined' => 'House' . ' and garden',
    'direction' => LTR,
    'public' => true,
    'nested' => ['open' => 'Open', 'first' => null],
];
PHP
php2po --progress=none en.php de.po
po2php --progress=none -t en.php de.po de.php
python - <<'PYTHON'
from finding import expect

with open("de.php") as file:
    lines = file.read().splitlines()
expect("lines", lines, [
    "<?php",
    "return [",
    "    'title' => 'House',",
    "    'price' => \"Only $price\",",
    "    'variable' => \"write $name\",",
    "    'nested' => [",
    "        'open' => 'Open',",
    "    ],",
    "];",
])
with open("de.po") as file:
    catalogue = file.read()
expect("messages", [text in catalogue for text in ("House", "Hello", "garden")], [True, False, False])
PYTHON
