#!/bin/sh
# Builds the movie application from the folder SOURCE (apps/movies), which is only read, in OUT, and tests it:
# test.sh [--build | --slow] SOURCE OUT [LANGUAGE]...
#
# With --build it ends there, by 1 where a language does not build. With --slow it runs the slow tests, and only those: of the program
# that makes the data set, and of the services in Java that have a twin in another language.
#
# Tests: those beside the code of each language, and the contract tests of every service that was built.
# A language whose tools are not there is skipped by name. The last line is `N passed, N failed, N skipped`; tests of one language
# count as one, cases of the contract tests one by one. OUT/tests has what each said.
set -u

build_only= slow=
case ${1:-} in
    --build) build_only=1 ;;
    --slow) slow=1 ;;
esac
[ -z "$build_only$slow" ] || shift
if [ $# -lt 2 ]; then
    echo 'usage: test.sh [--build | --slow] SOURCE OUT [LANGUAGE]...' >&2
    exit 2
fi
source=$(cd "$1" && pwd) || exit 2
mkdir -p "$2/tests"
out=$(cd "$2" && pwd) || exit 2
shift 2
languages=${*:-native go node php python java}
passed=0 failed=0 skipped=0

# One line for what a command says, and all of it where it fails.
check() { # NAME COMMAND...
    name=$1 begun=$(date +%s)
    shift
    if "$@" >"$out/tests/$name.log" 2>&1 </dev/null; then
        passed=$((passed + 1))
        echo "ok: $name ($(($(date +%s) - begun)) s)"
    else
        failed=$((failed + 1))
        echo "FAILED: $name: $*"
        tail -n 60 "$out/tests/$name.log"
    fi
}

skip() { # NAME REASON
    skipped=$((skipped + 1))
    echo "skipped: $1: $2"
}

has_test_libraries() {
    echo '#include <gtest/gtest.h>' | g++ -x c++ -E - >/dev/null 2>&1
}

tests_of() {
    case $1 in
        native)
            if has_test_libraries; then
                check native-tests ctest --test-dir "$out/native" --output-on-failure --no-tests=error
            else
                skip native-tests 'libgtest-dev is missing'
            fi
            ;;
        go) check go-tests env GOWORK="$out/go/go.work" GOFLAGS=-mod=readonly sh -c 'cd "$1" && go test ./...' go "$source" ;;
        node) check node-tests sh -c 'cd "$1" && npm test --silent' node "$out/node" ;;
        php)
            check php-golden php "$out/php/chassis/php/tests/golden.php" "$source/contract"
            check php-chassis php -d apc.enable_cli=1 "$out/php/chassis/php/tests/units.php"
            check php-api php "$out/php/services/php/tests/units.php"
            ;;
        python)
            check python-units env PYTHONPATH="$out/python" PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$source/chassis/python/tests/units.py"
            check python-golden /usr/bin/python3 "$source/contract/golden.py" --check
            ;;
        java) check java-tests sh "$source/build/java.sh" "$source" "$out" --test ;;
    esac
}

slow_tests_of() {
    case $1 in
        go) check go-vet env GOWORK="$out/go/go.work" GOFLAGS=-mod=readonly sh -c 'cd "$1" && go vet ./...' go "$source" ;;
        python)
            if /usr/bin/python3 -c 'import numpy, PIL, bcrypt' 2>/dev/null && command -v ffmpeg >/dev/null && command -v npm >/dev/null; then
                check data-set env PYTHONDONTWRITEBYTECODE=1 sh -c 'cd "$1" && /usr/bin/python3 -m unittest discover -s tests -t .' data "$source/data"
            else
                skip data-set 'python3-numpy, python3-pil, python3-bcrypt, ffmpeg or npm is missing'
            fi
            ;;
    esac
}

# What the builds are made from: the source, and the tools by their versions. A language that was built from the same is not built again.
made_from=$(
    cd "$source" && {
        find . -type f ! -name '*.pyc' -print0 | sort -z | xargs -0 sha256sum
        for tool in 'g++ --version' 'cmake --version' 'thrift --version' 'go version' 'node --version' 'php --version' 'java -version' 'mvn --version'; do
            $tool 2>&1 | head -n 1
        done
    } | sha256sum
)

for language in $languages; do
    log=$out/tests/$language-build.log
    stamp=$out/$language.made-from
    option=
    [ "$language" != native ] || ! has_test_libraries || option=-DMOVIES_TESTS=ON
    if [ "$(cat "$stamp" 2>/dev/null)" = "$made_from $option" ]; then
        built=0
    else
        rm -f "$stamp"
        # shellcheck disable=SC2086
        sh "$source/build/$language.sh" "$source" "$out" $option >"$log" 2>&1 </dev/null
        built=$?
        [ "$built" -ne 0 ] || echo "$made_from $option" >"$stamp"
    fi
    case $built in
        0)
            if [ -n "$build_only" ]; then
                echo "built: $language"
            elif [ -n "$slow" ]; then
                slow_tests_of "$language"
            else
                tests_of "$language"
            fi
            ;;
        3) skip "$language" "$(tail -n 1 "$log")" ;;
        *)
            failed=$((failed + 1))
            echo "FAILED: $language does not build"
            tail -n 60 "$log"
            ;;
    esac
done

if [ -n "$build_only" ]; then
    [ "$failed" -eq 0 ]
    exit
fi

if [ -x /usr/lib/postgresql/15/bin/postgres ] && /usr/bin/python3 -c 'import thrift, psycopg2, jinja2' 2>/dev/null && command -v memcached >/dev/null; then
    # Services in Java live for seconds here, too short for the optimising compiler of the virtual machine to pay.
    export MOVIES_JAVA_MORE_FLAGS=-XX:TieredStopAtLevel=1
    # Its last line is the same as ours.
    contract() { # OPTION...
        /usr/bin/python3 "$source/contract/run.py" --out "$out" --json "$out/tests/contract.json" --jobs 3 "$@" >"$out/tests/contract.log" 2>&1 </dev/null
        status=$?
        counts=$(tail -n 1 "$out/tests/contract.log")
        case $counts in
            *' passed, '*' failed, '*' skipped') echo "contract tests: $counts" ;;
            *)
                echo "FAILED: the contract tests ended with $status:"
                tail -n 40 "$out/tests/contract.log"
                counts='0 passed, 1 failed, 0 skipped'
                ;;
        esac
        grep -A 12 '^FAILED' "$out/tests/contract.log" | head -n 200
    }
    number() { # WHAT
        echo "$counts" | awk -v what="$1" '{ gsub(",", ""); for (i = 2; i <= NF; i++) if ($i == what) print $(i - 1) }'
    }
    [ -n "$slow" ] || check contract-registry /usr/bin/python3 "$source/contract/tests/registry.py"
    asked() {
        contract
        passed=$((passed + $(number passed))) skipped=$((skipped + $(number skipped)))
        wrong=$(number failed)
        if [ "$wrong" -gt 0 ] && [ -s "$out/tests/contract.json" ]; then
            # Deadlines of a few ms are held against the clock: what fails on a machine that stood still is asked once more, and said.
            # The services of the failed cases, and before them how many of their cases passed.
            again=$(/usr/bin/python3 -c 'import json, sys
results = json.load(open(sys.argv[1]))["results"]
names = {one["service"] for one in results if one["outcome"] == "failed"}
print(sum(one["service"] in names and one["outcome"] == "passed" for one in results))
print(" ".join("--service " + name for name in sorted(names)))' "$out/tests/contract.json")
            passed=$((passed - $(echo "$again" | head -n 1)))
            again=$(echo "$again" | tail -n 1)
            echo "once more: $again"
            # shellcheck disable=SC2086
            contract $again
            passed=$((passed + $(number passed))) wrong=$(number failed)
        fi
        failed=$((failed + wrong))
    }
    # What other languages have, in Java: the classes of the monolith. Its HTTP interface is asked by the tests of crate `app`.
    if [ -z "$slow" ]; then
        asked
    elif [ -d "$out/java-twins" ]; then
        runner=$source/monolith/twins.py
        asked
    else
        skip twins 'they are not built'
    fi
else
    skip contract 'postgresql-15, memcached, python3-thrift, python3-psycopg2 or python3-jinja2 is missing'
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
