#!/bin/sh
# Makes the services in JavaScript from the folder SOURCE (apps/movies), which is only read: build/node.sh SOURCE OUT
#
# OUT/bin/movies-videos, OUT/bin/movies-text   programs; each takes a configuration
# OUT/node                                     what they run: chassis, services, generated code, libraries of the lock file
#
# `cd OUT/node && npm test` runs their unit tests.
set -eu

if [ $# -ne 2 ]; then
    echo 'usage: build/node.sh SOURCE OUT' >&2
    exit 2
fi
source=$(cd "$1" && pwd)
mkdir -p "$2/bin" "$2/node"
out=$(cd "$2" && pwd)

missing=
command -v thrift >/dev/null || missing="$missing thrift-compiler"
command -v npm >/dev/null || missing="$missing npm"
# Debian 12's nodejs is 18, which is not tested any more by those who make it.
version=$(node --version 2>/dev/null || true)
case $version in
    '' | v[0-9].* | v1[0-9].*) missing="$missing nodejs (20 or later; here: ${version:-none})" ;;
esac
if [ -n "$missing" ]; then
    echo "node.sh: missing packages:$missing" >&2
    exit 3
fi

# Libraries, only when the lock file changed.
if ! cmp -s "$source/package-lock.json" "$out/node/installed.json"; then
    cp "$source/package.json" "$source/package-lock.json" "$out/node/"
    (cd "$out/node" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
    cp "$source/package-lock.json" "$out/node/installed.json"
fi

# Generated code, which the tree stays free of. It is of the older kind of modules, so its names end in .cjs.
if [ ! "$out/node/idl/generated" -nt "$source/idl/movies.thrift" ]; then
    rm -rf "$out/node/idl"
    mkdir -p "$out/node/idl"
    thrift -r --gen js:node,es6 -out "$out/node/idl" "$source/idl/movies.thrift"
    for file in "$out"/node/idl/*.js; do
        sed "s#require('\./\([A-Za-z_]*\)')#require('./\1.cjs')#" "$file" >"${file%.js}.cjs"
        rm "$file"
    done
    touch "$out/node/idl/generated"
fi

# Code: the tree's layout, so that the same paths hold here and there.
cp "$source/package.json" "$out/node/"
for part in chassis/node services/videos services/text contract/golden; do
    rm -rf "$out/node/$part"
    mkdir -p "$out/node/${part%/*}"
    cp -R "$source/$part" "$out/node/$part"
done
cp "$source/contract/vectors.json" "$out/node/contract/"

# Programs. They look for their files beside themselves, so that OUT can be moved.
for name in videos text; do
    cat >"$out/bin/movies-$name" <<END
#!/bin/sh
exec node "\${0%/*}/../node/services/$name/main.js" "\$@"
END
    chmod +x "$out/bin/movies-$name"
done
