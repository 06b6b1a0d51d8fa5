#!/bin/sh
# Makes the services in Go from the folder SOURCE (apps/movies), which is only read: build/go.sh SOURCE OUT
#
# OUT/bin/movies-update-movie, OUT/bin/movies-user   static programs; each takes a configuration
# OUT/go/idl                                         generated code, a module of its own
# OUT/go/go.work                                     what joins both; GOWORK=OUT/go/go.work lets `go test` and `go vet` find it
set -eu

if [ $# -ne 2 ]; then
    echo 'usage: build/go.sh SOURCE OUT' >&2
    exit 2
fi
source=$(cd "$1" && pwd)
mkdir -p "$2/bin" "$2/go"
out=$(cd "$2" && pwd)
idl=$source/idl/movies.thrift

missing=
command -v thrift >/dev/null || missing="$missing thrift-compiler"
# Debian 12's golang-go is 1.19; the modules need 1.23, which golang-go of its backports or of Debian 13 is.
version=$(go env GOVERSION 2>/dev/null || true)
case $version in
    '' | go1.[0-9] | go1.[0-9].* | go1.1[0-9] | go1.1[0-9].* | go1.2[0-2] | go1.2[0-2].*)
        missing="$missing golang-go (1.23 or later; here: ${version:-none})"
        ;;
esac
if [ -n "$missing" ]; then
    echo "go.sh: missing packages:$missing" >&2
    exit 3
fi

# A module of its own, so that the tree stays free of generated code. Its clients for the command line are not needed.
if [ ! "$out/go/idl/movies.go" -nt "$idl" ]; then
    rm -rf "$out/go/idl" "$out/go/new"
    mkdir -p "$out/go/new"
    thrift -r --gen go:skip_remote -out "$out/go/new" "$idl"
    mv "$out/go/new/idl" "$out/go/idl"
    rmdir "$out/go/new"
fi
version_of() { awk -v name="$1" '$1 == name { print $2 }' "$source/go.mod"; }
cat >"$out/go/idl/go.mod.new" <<END
module movies/idl

go $(version_of go)

require github.com/apache/thrift $(version_of github.com/apache/thrift)
END
cat >"$out/go/go.work.new" <<END
go $(version_of go)

use "$source"

use ./idl
END
for file in "$out/go/idl/go.mod" "$out/go/go.work"; do
    cmp -s "$file.new" "$file" && rm "$file.new" || mv "$file.new" "$file"
done

cd "$source"
# Without C, so that the programs need no libraries.
GOWORK=$out/go/go.work CGO_ENABLED=0 go build -trimpath -p "${MOVIES_JOBS:-2}" -o "$out/bin/movies-update-movie" ./services/update-movie
GOWORK=$out/go/go.work CGO_ENABLED=0 go build -trimpath -p "${MOVIES_JOBS:-2}" -o "$out/bin/movies-user" ./services/user
