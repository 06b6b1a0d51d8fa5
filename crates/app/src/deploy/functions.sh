# Written by taillight: what is done in this pod before its services start.
set -euo pipefail
umask 022

# A configuration, with the secret in its place: FROM TO MASK
file() {
    local mask to=$2
    mask=$(umask)
    umask "$3"
    mkdir -p "${to%/*}"
    rm -f "$to"
    sed -f /dev/stdin "$1" >"$to" <<END
s/PLACEHOLDER/$SECRET/g
END
    umask "$mask"
}

# A copy of a file or a folder that need not be there: FROM TO
beside() {
    [ -e "$1" ] || return 0
    mkdir -p "${2%/*}"
    rm -rf "$2"
    cp -R "$1" "$2"
}

# The data that a store begins with, once: FROM TO
begin() {
    [ ! -e "$2" ] || return 0
    rm -rf "$2.part"
    mkdir -p "${2%/*}"
    cp -R --preserve=mode "$1" "$2.part"
    mv "$2.part" "$2"
}

# Waits until a service is ready, as none is reached before: HOST PORT
await() {
    local said=
    # An attempt from before the cluster knows the way to an address would last for minutes.
    until timeout 2 bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$1" "$2" 2>/dev/null; do
        [ -n "$said" ] || echo "waits for $1:$2"
        said=1
        sleep 0.2
    done
}

