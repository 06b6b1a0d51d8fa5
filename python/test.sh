#!/bin/sh
# Tests the Python package from a wheel: test.sh OUT TOOLS
#
# OUT is a folder to build in. TOOLS is the environment that `cargo xtask tools` makes of requirements.txt; without it the
# tests are skipped. The tests run in a new environment, which has nothing but the package, and those of the extras with the
# packages of TOOLS. The last line is `N passed, N failed, N skipped`.
set -u

here=$(cd "$(dirname "$0")" && pwd) || exit 2
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd) || exit 2
tools=$2
if [ ! -x "$tools/bin/mypy" ]; then
    echo "skipped: the Python package: $tools is missing; 'cargo xtask tools' makes it"
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi
tools=$(cd "$tools" && pwd) || exit 2
passed=0 failed=0 skipped=0

check() { # NAME COMMAND...
    name=$1
    shift
    if "$@" >"$out/$name.log" 2>&1 </dev/null; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name: $*"
        cat "$out/$name.log"
    fi
}

tests() { # FOLDER OF PACKAGES, MODULE...
    packages=$1
    shift
    # Not in the folder of the sources, so that the package is the one of the wheel.
    said=$(cd "$here/tests" && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$packages "$out/venv/bin/python" run.py "$@" 2>&1 </dev/null)
    last=$(printf '%s\n' "$said" | tail -n 1)
    case $last in
        *' passed, '*' failed, '*' skipped')
            # shellcheck disable=SC2086
            set -- $last
            passed=$((passed + $1)) failed=$((failed + $3)) skipped=$((skipped + $5))
            [ "$3" -eq 0 ] || printf '%s\n' "$said"
            ;;
        *)
            failed=$((failed + 1))
            printf '%s\n' "$said"
            ;;
    esac
    printf '%s\n' "$said" | grep '^skipped: '
}

rm -rf "$out/wheel" "$out/venv"
check wheel "$tools/bin/python" -m pip wheel --quiet --no-deps --no-build-isolation --no-index -w "$out/wheel" "$here"
check venv "$tools/bin/python" -m venv --without-pip "$out/venv"
check install "$tools/bin/python" -m pip --python "$out/venv/bin/python" install --quiet --no-index --no-deps "$out"/wheel/*.whl
check types "$tools/bin/mypy" --config-file "$here/pyproject.toml" --cache-dir "$out/mypy" \
    --python-executable "$out/venv/bin/python" "$here/src"
tests '' test_bare test_figures test_schema
tests "$("$tools/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" test_extras
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
