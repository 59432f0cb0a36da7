# Sourced by the scripts beside it: `. environment.sh PACKAGE==VERSION ...` makes a temporary folder, which is removed at
# the end and becomes the working directory, with a virtual environment that has these packages. Afterwards `python` is
# the environment's and imports the modules beside this file.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv environment
PATH="$folder/environment/bin:$PATH"
if [ $# -gt 0 ]; then
    python -m pip install --quiet --disable-pip-version-check "$@" 2>pip.log || { cat pip.log >&2; exit 1; }
    printf 'installed: %s\n' "$*"
fi
export PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1
