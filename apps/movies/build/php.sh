#!/bin/sh
# Makes what is written in PHP, and the static site, from apps/movies: build/php.sh SOURCE OUT
#
# OUT/bin/movies-php, OUT/bin/movies-user-auth   programs; each takes a configuration
# OUT/php                                        what they run: chassis, services, generated code, Thrift's classes
# OUT/web                                        the folder that a web server has as its root
set -eu

if [ $# -ne 2 ]; then
    echo 'usage: build/php.sh SOURCE OUT' >&2
    exit 2
fi
source=$(cd "$1" && pwd)
mkdir -p "$2/bin" "$2/php" "$2/web"
out=$(cd "$2" && pwd)

# Debian has Thrift's classes for PHP in a folder that has not the name of their namespace.
thrift_php=
for folder in /usr/lib/php /usr/share/php /usr/lib/php/Thrift /usr/share/php/Thrift; do
    if [ -f "$folder/Base/TBase.php" ]; then
        thrift_php=$folder
    fi
done

missing=
needs() { # PACKAGE COMMAND...
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}
has_module() { php -m | grep -qix "$1"; }
needs thrift-compiler command -v thrift
needs php-thrift test -n "$thrift_php"
needs php8.2-cli command -v php
needs php8.2-fpm test -x /usr/sbin/php-fpm8.2
needs php8.2-apcu has_module apcu
needs php8.2-pgsql has_module pdo_pgsql
needs nodejs command -v node
needs npm command -v npm
if [ -n "$missing" ]; then
    echo "php.sh: missing packages:$missing (apt-get install$missing)" >&2
    exit 3
fi

# Code: the tree's layout, so that the same paths hold here and there.
rm -rf "$out/php.new"
mkdir -p "$out/php.new/chassis" "$out/php.new/services" "$out/php.new/idl" "$out/php.new/thrift/Thrift"
cp -R "$source/chassis/php" "$out/php.new/chassis/"
cp -R "$source/services/php" "$source/services/user-auth" "$out/php.new/services/"
thrift -r --gen php:server,validate -out "$out/php.new/idl" "$source/idl/movies.thrift"
for part in Base Exception Factory Protocol StringFunc Transport Type; do
    cp -R "$thrift_php/$part" "$out/php.new/thrift/Thrift/"
done
find "$out/php.new" -name '*.php' -not -path '*/thrift/*' -exec php -n -l {} + |
    grep -v -e '^No syntax errors' -e '^$' && exit 1
rm -rf "$out/php"
mv "$out/php.new" "$out/php"

# Programs. Those who start them look for their files beside themselves, so that OUT can be moved.
cat >"$out/bin/movies-user-auth" <<'END'
#!/bin/sh
exec php -d memory_limit=128M -d display_errors=stderr -d zend.exception_ignore_args=On \
    -d opcache.enable_cli=1 "${0%/*}/../php/services/user-auth/main.php" "$@"
END
cat >"$out/bin/movies-php" <<'END'
#!/bin/sh
# php-fpm reads php-fpm.conf and php.ini, which lie beside the configuration.
config=$(readlink -f "${1:?usage: movies-php CONFIGFILE}")
beside=${config%/*}
root=$(cd "${0%/*}/../php/services/php/public" && pwd)
export MOVIES_CONFIG="$config"
# The account is that of who starts it, which may be root on a machine for tests alone.
exec /usr/sbin/php-fpm8.2 --nodaemonize --force-stderr --allow-to-run-as-root \
    --fpm-config "$beside/php-fpm.conf" -c "$beside/php.ini" -d doc_root="$root"
END
chmod +x "$out/bin/movies-user-auth" "$out/bin/movies-php"

# The site, with hls.js in the version of the lock file.
player=$source/services/player
mkdir -p "$out/npm"
if ! cmp -s "$player/package-lock.json" "$out/npm/package-lock.json" || [ ! -f "$out/npm/node_modules/hls.js/dist/hls.min.js" ]; then
    cp "$player/package.json" "$player/package-lock.json" "$out/npm/"
    npm ci --prefix "$out/npm" --ignore-scripts --no-audit --no-fund --loglevel=error
fi
rm -rf "$out/web.new"
mkdir -p "$out/web.new/assets"
cp "$source"/services/web/*.html "$out/web.new/"
cp "$source"/services/web/assets/* "$player/player.js" "$out/npm/node_modules/hls.js/dist/hls.min.js" \
    "$out/npm/node_modules/hls.js/dist/hls.worker.js" "$out/web.new/assets/"
rm -rf "$out/web"
mv "$out/web.new" "$out/web"
