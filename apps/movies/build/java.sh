#!/bin/sh
# Makes the services in Java and Scala from the folder SOURCE (apps/movies), which is only read: build/java.sh SOURCE OUT [--test] [--analytics]
#
# OUT/bin/movies-NAME      starts a service; it takes a configuration. MOVIES_JAVA_FLAGS replaces the flags of the virtual
#                          machine, MOVIES_JAVA_MORE_FLAGS adds to them
# OUT/bin/movies-java-NAME the same for all services, also for those that are written in another language: the monolith's class alone
# OUT/bin/movies-monolith  all of them in one process
# OUT/java-twins/bin       movies-java-NAME as movies-NAME, for the contract tests
# OUT/java/movies.jar      all classes
# OUT/java/lib             what they need
# OUT/java-analytics       the same with Spark (310 MB), and OUT/bin/movies-analytics; only with --analytics
#
# --test also runs the unit tests. Nothing is done where nothing has changed.
set -eu

usage() {
    echo 'usage: build/java.sh SOURCE OUT [--test] [--analytics]' >&2
    exit 2
}
[ $# -ge 2 ] || usage
source=$(cd "$1" && pwd)
mkdir -p "$2/bin"
out=$(cd "$2" && pwd)
shift 2
test= analytics=
for option in "$@"; do
    case $option in
        --test) test=1 ;;
        --analytics) analytics=1 ;;
        *) usage ;;
    esac
done

missing=
command -v thrift >/dev/null || missing="$missing thrift-compiler"
command -v mvn >/dev/null || missing="$missing maven"
case $(javac -version 2>&1) in
    'javac 1'[7-9]* | 'javac '[2-9][0-9]*) ;;
    *) missing="$missing openjdk-17-jdk-headless" ;;
esac
if [ -n "$missing" ]; then
    echo "java.sh: missing packages:$missing (apt-get install$missing)" >&2
    exit 3
fi

# Generated code, anew when the interface has changed. It has no annotation of when, so that it is the same each time.
idl() { # FOLDER
    if [ ! "$1/idl/movies/idl/Chassis.java" -nt "$source/idl/movies.thrift" ]; then
        rm -rf "$1/idl"
        mkdir -p "$1/idl"
        thrift -r --gen java:generated_annotations=suppress -out "$1/idl" "$source/idl/movies.thrift"
    fi
}

# Whether a file is newer than all that it is made from.
fresh() { # FILE
    [ -e "$1" ] && [ -z "$(find "$source/pom.xml" "$source/build/java.sh" "$source/chassis/java" "$source/services" "$source/monolith" \
        "$source/idl" \
        \( -name '*.java' -o -name '*.scala' -o -name pom.xml -o -name java.sh -o -name movies.thrift \) -newer "$1" | head -n 1)" ]
}

package() { # FOLDER OPTION...
    folder=$1
    shift
    idl "$folder"
    # All of it: Maven's plugins leave classes of sources that are gone, and trust times of files that are not.
    rm -rf "$folder/lib" "$folder/target" "$folder/movies.jar"
    # Compilers run for seconds, too short for the optimising compiler of the virtual machine to pay.
    MAVEN_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC ${MAVEN_OPTS:-}" mvn -B -q -f "$source/pom.xml" -Dmovies.out="$folder" "$@" package
    cp "$folder/target/movies.jar" "$folder/movies.jar.new"
    mv "$folder/movies.jar.new" "$folder/movies.jar"
}

# It looks for its files beside itself, so that OUT can be moved.
launcher() { # NAME FOLDER FLAGS CLASS ARGUMENT...
    program=$1 folder=$2 flags=$3 class=$4
    shift 4
    cat >"$out/bin/movies-$program.new" <<END
#!/bin/sh
java=\${0%/*}/../$folder
exec java \${MOVIES_JAVA_FLAGS:-$flags} \${MOVIES_JAVA_MORE_FLAGS:-} -cp "\$java/movies.jar:\$java/lib/*" $class $* "\$@"
END
    chmod +x "$out/bin/movies-$program.new"
    mv "$out/bin/movies-$program.new" "$out/bin/movies-$program"
}

java=$out/java
if [ -n "$test" ]; then
    package "$java"
elif ! fresh "$java/movies.jar"; then
    package "$java" -DskipTests -Dmaven.test.skip=true
fi
# -Xmx64m: documents are small, the cache is elsewhere, and factors are mapped. Serial: threads that collect in parallel compete with requests for few
# processors. Native memory kept for each thread's reads and writes: as large as the parts that the chassis makes.
flags='-Xmx64m -XX:+UseSerialGC -Xshare:auto -Xss512k -XX:ReservedCodeCacheSize=48m -Djdk.nio.maxCachedBufferSize=65536'
own='movie-info cast-info rent-movie movie-review user-review movie-recommender'
for name in $own; do
    launcher "$name" java "$flags" movies.monolith.Services "$name"
done
twins='compose-page plot thumbnail rating reviews photos videos user-auth unique-id movie-id text review-rating compose-review review-storage
    update-movie user search ads'
for name in $own $twins front; do
    launcher "java-$name" java "$flags" movies.monolith.Services "$name"
done
# Half of the memory that the registry gives it: the sum of what it stands for.
launcher monolith java "$(echo "$flags" | sed 's/-Xmx64m/-Xmx736m/; s/=48m/=128m/')" movies.monolith.Monolith
mkdir -p "$out/java-twins/bin"
for name in $own $twins; do
    printf '#!/bin/sh\nexec "${0%%/*}/../../bin/movies-java-%s" "$@"\n' "$name" >"$out/java-twins/bin/movies-$name"
    chmod +x "$out/java-twins/bin/movies-$name"
done

if [ -z "$analytics" ]; then
    echo 'java.sh: analytics was left out, as Spark is large; --analytics makes it'
elif ! fresh "$out/java-analytics/movies.jar"; then
    package "$out/java-analytics" -Dmovies.analytics -DskipTests -Dmaven.test.skip=true
fi
if [ -n "$analytics" ]; then
    # What Spark 4 opens of the class library on Java 17. Source: JavaModuleOptions of Spark.
    opens=
    for package in java.lang java.lang.invoke java.lang.reflect java.io java.net java.nio java.util java.util.concurrent \
        java.util.concurrent.atomic sun.nio.ch sun.nio.cs sun.security.action sun.util.calendar; do
        opens="$opens --add-opens=java.base/$package=ALL-UNNAMED"
    done
    launcher analytics java-analytics "-Xmx1g -XX:+UseSerialGC$opens" movies.analytics.Main
fi
