#!/bin/sh
# Makes Jaeger from the Go modules that go.mod names: build.sh SOURCE OUT
#
# OUT/bin/jaeger   one static program, without the pages for a browser
set -eu

if [ $# -ne 2 ]; then
    echo 'usage: build.sh SOURCE OUT' >&2
    exit 2
fi
source=$(cd "$1" && pwd)
mkdir -p "$2/bin"
out=$(cd "$2" && pwd)

# Debian 12's golang-go is 1.19; the modules need 1.23, which golang-go of its backports or of Debian 13 is.
version=$(go env GOVERSION 2>/dev/null || true)
case $version in
    '' | go1.[0-9] | go1.[0-9].* | go1.1[0-9] | go1.1[0-9].* | go1.2[0-2] | go1.2[0-2].*)
        echo "build.sh: missing packages: golang-go (1.23 or later; here: ${version:-none})" >&2
        exit 3
        ;;
esac

cd "$source"
module=github.com/jaegertracing/jaeger
number=$(awk -v module="$module" '$1 == module { print $2 } $2 == module { print $3 }' go.mod)
# Without C, so that the program needs no libraries.
CGO_ENABLED=0 GOFLAGS=-mod=readonly go build -trimpath -p "${JAEGER_JOBS:-2}" -o "$out/bin/jaeger.new" \
    -ldflags "-s -w -X $module/pkg/version.latestVersion=$number" "$module/cmd/all-in-one"
mv "$out/bin/jaeger.new" "$out/bin/jaeger"
