#!/bin/sh
# Tests the Python library: types, generated models, package, and all tests. Those that need no marketplace also run
# with every other Python from 3.10 to 3.13 that is present. CRTX_BIN names the program `crtx`. Environments are kept in the
# target folder, so the second run is quick.
set -eu
cd "$(dirname "$0")"
cache=${CARGO_TARGET_DIR:-$(cd ../.. && pwd)/target}/sdk-python
mkdir -p "$cache"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PYTHONPYCACHEPREFIX="$cache/pycache"

# What runs in the background ends with this.
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

# The program of a Python version, if it is present.
python_of() {
    for python in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
        if "$python" -c '' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
}

# An environment with what the files name; it is made again when they change.
environment() {
    home=$cache/$1 python=$2
    shift 2
    stamp=$(cat pyproject.toml tests/requirements.txt tests/tools.txt | sha256sum)
    if [ "$(cat "$home/stamp" 2>/dev/null)" != "$stamp" ]; then
        rm -rf "$home"
        "$python" -m venv "$home"
        # What is imported is compiled then.
        "$home/bin/pip" install -q --no-compile "$@"
        echo "$stamp" >"$home/stamp"
    fi
}

# The tests that need no marketplace, with another version.
other() {
    environment "$1" "$2" -e . -r tests/requirements.txt
    "$cache/$1/bin/python" -m pytest -p no:cacheprovider tests/test_wire.py tests/test_seller.py tests/test_faults.py
}

others="" newest=""
for version in 3.13 3.12 3.11 3.10; do
    python=$(python_of "$version")
    if [ -z "$python" ]; then
        echo "Python $version is not present"
    elif [ -z "$newest" ]; then
        newest=$version
    else
        other "$version" "$python" >"$cache/$version.log" 2>&1 &
        others="$others $version:$!"
    fi
done
[ -n "$newest" ] || { echo "no Python from 3.10 to 3.13"; exit 1; }
main=$cache/main/bin
environment main "$(python_of "$newest")" -e . -r tests/requirements.txt -r tests/tools.txt
"$main/python" scripts/generate_models.py --check
"$main/mypy" --cache-dir "$cache/mypy"

rm -rf "$cache/dist"
if ! "$main/python" -m build --no-isolation --outdir "$cache/dist" >"$cache/build.log" 2>&1; then
    cat "$cache/build.log"
    exit 1
fi
wheel=$(echo "$cache"/dist/*.whl)
environment clean "$(python_of "$newest")" "$wheel[fastapi,flask]"
"$cache/clean/bin/pip" install -q --no-deps --force-reinstall "$wheel"
"$cache/clean/bin/pip" check -q
clean=$cache/clean/bin/python
(cd "$cache" && "$clean" -c 'import crtx, crtx.fastapi, crtx.flask; print("crtx installs and imports")')
"$main/mypy" --cache-dir "$cache/mypy-clean" --config-file= --strict --python-executable "$clean" examples/*.py

"$main/python" -m pytest -p no:cacheprovider "$@"
for other in $others; do
    if wait "${other#*:}"; then
        echo "Python ${other%:*}: $(tail -n 1 "$cache/${other%:*}.log")"
    else
        cat "$cache/${other%:*}.log"
        exit 1
    fi
done
