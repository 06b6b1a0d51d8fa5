#!/bin/sh
# Makes what is written in Python from apps/movies: build/python.sh SOURCE OUT
#
# OUT/bin/movies-ads   the program; it takes a configuration
# OUT/python           what it runs: chassis, services, generated code
set -eu

if [ $# -ne 2 ]; then
    echo 'usage: build/python.sh SOURCE OUT' >&2
    exit 2
fi
source=$(cd "$1" && pwd)
mkdir -p "$2/bin"
out=$(cd "$2" && pwd)

missing=
needs() { # PACKAGE COMMAND...
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}
needs thrift-compiler command -v thrift
needs python3 test -x /usr/bin/python3
needs python3-thrift /usr/bin/python3 -c 'import thrift'
needs python3-numpy /usr/bin/python3 -c 'import numpy'
if [ -n "$missing" ]; then
    echo "python.sh: missing packages:$missing (apt-get install$missing)" >&2
    exit 3
fi

rm -rf "$out/python.new"
mkdir -p "$out/python.new/services"
cp -R "$source/chassis/python" "$out/python.new/chassis"
cp -R "$source/services/ads" "$out/python.new/services/"
thrift -r --gen py -out "$out/python.new" "$source/idl/movies.thrift"
find "$out/python.new" -name '*-remote' -delete
/usr/bin/python3 -m compileall -q -j 2 "$out/python.new"
rm -rf "$out/python"
mv "$out/python.new" "$out/python"

# It looks for its files beside itself, so that OUT can be moved. -P: the folder it is started in has no say in what is imported.
cat >"$out/bin/movies-ads.new" <<'END'
#!/bin/sh
# OpenBLAS would start a thread for each core, for products of a few numbers.
OPENBLAS_NUM_THREADS=1 PYTHONPATH="${0%/*}/../python" exec /usr/bin/python3 -P -m services.ads.main "$@"
END
chmod +x "$out/bin/movies-ads.new"
mv "$out/bin/movies-ads.new" "$out/bin/movies-ads"
