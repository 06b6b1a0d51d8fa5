#!/bin/sh
# Gathers Cassandra from the packages that pom.xml names: build.sh SOURCE OUT
#
# OUT/bin/cassandra   starts it; it takes properties of the virtual machine. CASSANDRA_HEAP_MB is its heap
# OUT/java/lib        its classes
set -eu

if [ $# -ne 2 ]; then
    echo 'usage: build.sh SOURCE OUT' >&2
    exit 2
fi
source=$(cd "$1" && pwd)
mkdir -p "$2/bin" "$2/java"
out=$(cd "$2" && pwd)

missing=
command -v mvn >/dev/null || missing="$missing maven"
# Cassandra 4.1 is made for 8 and 11; on 17 it runs with what is opened below, and 18 took away the security manager that it sets.
version=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
case $version in
    11 | 17) ;;
    *) missing="$missing openjdk-17-jre-headless (11 or 17; here: ${version:-none})" ;;
esac
if [ -n "$missing" ]; then
    echo "build.sh: missing packages:$missing" >&2
    exit 3
fi

rm -rf "$out/java/lib.new"
mvn -B -q -f "$source/pom.xml" -Dcassandra.out="$out/java" package
rm -rf "$out/java/lib" "$out/java/target"
mv "$out/java/lib.new" "$out/java/lib"

# What it opens of the class library. Source: conf/jvm11-server.options and jvm17-server.options of Cassandra.
opens=
for package in java.base/jdk.internal.misc java.base/jdk.internal.ref java.base/sun.nio.ch java.management.rmi/com.sun.jmx.remote.internal.rmi \
    java.rmi/sun.rmi.registry java.rmi/sun.rmi.server java.rmi/sun.rmi.transport.tcp java.sql/java.sql; do
    opens="$opens --add-exports=$package=ALL-UNNAMED"
done
for package in java.base/java.io java.base/java.lang java.base/java.lang.module java.base/java.lang.reflect java.base/java.net \
    java.base/java.nio java.base/java.util java.base/java.util.concurrent java.base/java.util.concurrent.atomic \
    java.base/jdk.internal.loader java.base/jdk.internal.math java.base/jdk.internal.module java.base/jdk.internal.ref \
    java.base/jdk.internal.reflect java.base/jdk.internal.util.jar java.base/sun.nio.ch jdk.management/com.sun.management.internal; do
    opens="$opens --add-opens=$package=ALL-UNNAMED"
done
# Serial: threads that collect in parallel compete with those that serve for few processors.
cat >"$out/bin/cassandra.new" <<END
#!/bin/sh
# It looks for its files beside itself, so that OUT can be moved.
lib=\${0%/*}/../java/lib
heap=\${CASSANDRA_HEAP_MB:-512}m
for agent in "\$lib"/jamm-*.jar; do break; done
exec java -Xms\$heap -Xmx\$heap -Xss512k -XX:+UseSerialGC -XX:MaxDirectMemorySize=128m -XX:+ExitOnOutOfMemoryError -Xshare:auto \\
    -javaagent:"\$agent"$opens -Djdk.attach.allowAttachSelf=true -Djava.net.preferIPv4Stack=true -Dio.netty.tryReflectionSetAccessible=true \\
    -Dcassandra-foreground=yes -Dcassandra.skip_wait_for_gossip_to_settle=0 -Dcassandra.ring_delay_ms=100 \\
    "\$@" -cp "\$lib/*" org.apache.cassandra.service.CassandraDaemon
END
chmod +x "$out/bin/cassandra.new"
mv "$out/bin/cassandra.new" "$out/bin/cassandra"
