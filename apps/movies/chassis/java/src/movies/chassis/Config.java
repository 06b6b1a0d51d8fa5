package movies.chassis;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** Configuration of a service: the only argument of its program is a file of key=value lines. */
public final class Config {
    private static final List<String> NEEDED =
            List.of("service", "id", "instance", "listen", "threads", "queue", "spans", "secret", "data");
    private static final Pattern FAMILIES =
            Pattern.compile("upstream\\.[a-z-]+|cache\\.[a-z]+|store\\.[a-z]+|call\\.[a-z-]+\\.deadline_ms");
    /** Optional keys of single services: of user. */
    private static final Set<String> OWN = Set.of("hash_cost");
    private static final Pattern SECRET = Pattern.compile("([0-9a-f]{64})?");
    private static final int MOST_NUMBER = 0xffff;
    private static final int MOST_THREADS = 1024;
    private static final int LONGEST_DEADLINE_MS = 600_000;

    private final String file;
    private final Map<String, String> values = new LinkedHashMap<>();
    private final Set<String> seen = new HashSet<>();
    public final String service;
    final int id;
    public final int instance;
    public final InetSocketAddress listen;
    /** As it is written in the file. */
    public final String listenText;
    public final int threads;
    public final int queue;
    final String spans;

    public static Config read(Path file) throws ConfigError {
        try {
            return new Config(file.toString(), Files.readString(file));
        } catch (IOException error) {
            throw new ConfigError(file + ": it cannot be read: " + error);
        }
    }

    Config(String file, String text) throws ConfigError {
        this.file = file;
        int number = 0;
        for (String line : text.split("\n", -1)) {
            number++;
            line = line.strip();
            if (!line.isEmpty() && !line.startsWith("#")) {
                take(file + ":" + number, line);
            }
        }
        for (String key : NEEDED) {
            value(key);
        }
        service = value("service");
        id = number("id", 0, MOST_NUMBER);
        instance = number("instance", 0, MOST_NUMBER);
        threads = number("threads", 1, MOST_THREADS);
        queue = number("queue", 1, MOST_NUMBER);
        listenText = value("listen");
        listen = address("listen", listenText);
        spans = value("spans");
        if (!SECRET.matcher(secret()).matches()) {
            // The value itself does not go into a log.
            throw new ConfigError(file + ": `secret` takes 64 hex digits or nothing");
        }
        for (String key : values.keySet()) {
            if (key.startsWith("upstream.") || key.startsWith("cache.")) {
                addresses(key);
            } else if (key.startsWith("call.")) {
                number(key, 1, LONGEST_DEADLINE_MS);
            }
        }
    }

    private void take(String place, String line) throws ConfigError {
        int equals = line.indexOf('=');
        if (equals < 0) {
            throw new ConfigError(place + ": `" + line + "` is not key=value");
        }
        String key = line.substring(0, equals).strip();
        if (!NEEDED.contains(key) && !OWN.contains(key) && !key.equals("optional") && !FAMILIES.matcher(key).matches()) {
            throw new ConfigError(place + ": `" + key + "` is not a key");
        }
        if (!seen.add(key)) {
            throw new ConfigError(place + ": `" + key + "` is there twice");
        }
        String value = line.substring(equals + 1).strip();
        // An empty one that names a service or a domain is as if it were not there.
        if (!value.isEmpty() || !FAMILIES.matcher(key).matches()) {
            values.put(key, value);
        }
    }

    /** Errors: `ConfigError` if it is empty. */
    public String neededSecret() throws ConfigError {
        if (secret().isEmpty()) {
            throw new ConfigError(file + ": `secret` takes 64 hex digits, which " + service + " needs");
        }
        return secret();
    }

    private String secret() {
        return values.get("secret");
    }

    /** The folder of the data files. Errors: `ConfigError` if it is empty. */
    public Path neededData() throws ConfigError {
        if (values.get("data").isEmpty()) {
            throw new ConfigError(file + ": `data` takes the folder of the data files, which " + service + " needs");
        }
        return Path.of(values.get("data"));
    }

    /** Configured limit of a call. Units: ms; 0 if none. */
    public int limitOf(String callee) throws ConfigError {
        String key = "call." + callee + ".deadline_ms";
        return values.containsKey(key) ? number(key, 1, LONGEST_DEADLINE_MS) : 0;
    }

    /** Names of the services that are called and needed. */
    Set<String> neededUpstreams() {
        Set<String> names = new TreeSet<>();
        for (String key : values.keySet()) {
            if (key.startsWith("upstream.")) {
                names.add(key.substring("upstream.".length()));
            }
        }
        names.removeIf(this::isOptional);
        return names;
    }

    /** Whether answers do without the service. */
    boolean isOptional(String name) {
        return split(values.getOrDefault("optional", "")).contains(name);
    }

    /** Empty for a cache that is `none`. */
    List<InetSocketAddress> addresses(String key) throws ConfigError {
        if (key.startsWith("cache.") && value(key).equals("none")) {
            return List.of();
        }
        List<InetSocketAddress> addresses = new ArrayList<>();
        for (String text : texts(key)) {
            addresses.add(address(key, text));
        }
        return addresses;
    }

    /** Errors: `ConfigError` if it is missing or empty. */
    public List<String> texts(String key) throws ConfigError {
        List<String> texts = split(value(key));
        if (texts.isEmpty()) {
            throw new ConfigError(file + ": `" + key + "` takes at least one address");
        }
        return texts;
    }

    private String value(String key) throws ConfigError {
        String value = values.get(key);
        if (value == null) {
            throw new ConfigError(file + ": `" + key + "` is missing");
        }
        return value;
    }

    /** A key that this service defines; `usual` if absent. */
    public int number(String key, int usual, int least, int most) throws ConfigError {
        return values.containsKey(key) ? number(key, least, most) : usual;
    }

    private int number(String key, int least, int most) throws ConfigError {
        long number = Request.decimal(value(key));
        if (number < least || number > most) {
            throw new ConfigError(file + ": `" + key + "` is `" + value(key) + "`, and takes " + least + " to " + most);
        }
        return (int) number;
    }

    private InetSocketAddress address(String key, String text) throws ConfigError {
        int colon = text.lastIndexOf(':');
        long port = colon < 1 ? -1 : Request.decimal(text.substring(colon + 1));
        if (port < 1 || port > MOST_NUMBER) {
            throw new ConfigError(file + ": `" + key + "` has `" + text + "`, and takes HOST:PORT");
        }
        return new InetSocketAddress(text.substring(0, colon), (int) port);
    }

    private static List<String> split(String text) {
        return Pattern.compile(",").splitAsStream(text).map(String::strip).filter(part -> !part.isEmpty()).toList();
    }
}
