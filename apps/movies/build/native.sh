#!/bin/sh
# Makes the services in C and C++ from the folder SOURCE (apps/movies), which is only read, in OUT: OUT/bin/movies-NAME.
# OUT is kept between runs, so that only what changed is compiled. MOVIES_JOBS: how many compilers run at once (2).
set -eu

if [ $# -lt 2 ]; then
  echo "usage: native.sh SOURCE OUT [OPTION OF CMAKE]..." >&2
  exit 2
fi
source=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
shift 2

missing=
need() {
  eval "$2" >/dev/null 2>&1 || missing="$missing $1"
}
need cmake 'command -v cmake'
need ninja-build 'command -v ninja'
need gcc 'command -v cc'
need g++ 'command -v g++'
need thrift-compiler 'command -v thrift'
for package in libboost-dev:boost/numeric/conversion/cast.hpp libthrift-dev:thrift/Thrift.h libpq-dev:postgresql/libpq-fe.h libxapian-dev:xapian.h \
  nlohmann-json3-dev:nlohmann/json.hpp libssl-dev:openssl/sha.h; do
  need "${package%%:*}" "echo '#include <${package#*:}>' | g++ -x c++ -E -"
done
if [ -n "$missing" ]; then
  echo "native.sh: Debian packages are missing:$missing" >&2
  exit 3
fi

cmake -S "$source" -B "$out/native" -G Ninja -DMOVIES_OUT="$out" "$@" >"$out/native.log" 2>&1 || {
  cat "$out/native.log" >&2
  exit 1
}
cmake --build "$out/native" -j "${MOVIES_JOBS:-2}"
