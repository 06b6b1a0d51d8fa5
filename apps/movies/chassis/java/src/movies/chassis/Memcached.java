package movies.chassis;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * A cache over memcached's text protocol, in shards.
 *
 * <p>It has its own client, of three commands, since clients of libraries know neither a request's deadline nor the moments of
 * its span.
 */
final class Memcached implements Cache {
    /** Far more than a cache takes that works, 1 ms, and little of a request's time. */
    private static final long LONGEST_NS = TimeUnit.MILLISECONDS.toNanos(50);
    /** Key of 250 bytes, flags, size. Source of these: memcached's doc/protocol.txt. */
    private static final int LONGEST_LINE = 300;
    /** Of a value; the registry starts memcached with this limit. */
    private static final int LARGEST = 4 * 1024 * 1024;

    private final Service service;
    private final int peer;
    private final List<Pool<Wire>> shards = new ArrayList<>();

    Memcached(Service service, String domain) throws ConfigError {
        this.service = service;
        this.peer = Registry.row(domain + "-cache").id();
        for (InetSocketAddress address : service.config.addresses("cache." + domain)) {
            shards.add(Pool.to(address));
        }
    }

    @Override
    public Map<String, byte[]> getMany(List<String> keys) {
        if (shards.isEmpty()) {
            return Map.of();
        }
        Map<Integer, List<String>> parts = new TreeMap<>();
        for (String key : keys) {
            parts.computeIfAbsent(Jump.shard(key, shards.size()), shard -> new ArrayList<>()).add(key);
        }
        Map<String, byte[]> found = new HashMap<>();
        parts.forEach((shard, part) -> {
            String question = "get " + String.join(" ", part) + "\r\n";
            Span.StoreMethod method = keys.size() == 1 ? Span.StoreMethod.GET : Span.StoreMethod.GET_MANY;
            ask(shard, method, ByteBuffer.wrap(question.getBytes(StandardCharsets.UTF_8)), (wire, deadline) -> {
                Map<String, byte[]> values = readValues(wire, deadline);
                found.putAll(values);
            });
        });
        found.keySet().retainAll(keys);
        service.counts.cacheHits.add(found.size());
        service.counts.cacheMisses.add(keys.size() - found.size());
        return found;
    }

    private static Map<String, byte[]> readValues(Wire wire, long deadline) throws IOException {
        Map<String, byte[]> values = new HashMap<>();
        for (;;) {
            String line = wire.readLine(LONGEST_LINE, deadline);
            if (line.equals("END")) {
                return values;
            }
            // VALUE key flags size
            String[] words = line.split(" ");
            long size = words.length < 4 || !words[0].equals("VALUE") ? -1 : Request.decimal(words[3]);
            if (size < 0 || size > LARGEST) {
                throw new IOException("`" + line + "` to a get");
            }
            byte[] value = new byte[(int) size];
            wire.readFully(value, 0, value.length, deadline);
            if (!wire.readLine(LONGEST_LINE, deadline).isEmpty()) {
                throw new IOException("a value is longer than it says");
            }
            values.put(words[1], value);
        }
    }

    @Override
    public void set(String key, byte[] value, int expiryS) {
        if (value.length > LARGEST || shards.isEmpty()) {
            return;
        }
        byte[] line = ("set " + key + " 0 " + expiryS + " " + value.length + "\r\n").getBytes(StandardCharsets.UTF_8);
        ByteBuffer question = ByteBuffer.allocate(line.length + value.length + 2);
        question.put(line).put(value).put((byte) '\r').put((byte) '\n').flip();
        ask(Jump.shard(key, shards.size()), Span.StoreMethod.INSERT, question, (wire, deadline) -> {
            String answer = wire.readLine(LONGEST_LINE, deadline);
            if (!answer.equals("STORED")) {
                throw new IOException("`" + answer + "` to a set");
            }
        });
    }

    @Override
    public void delete(String key) {
        if (shards.isEmpty()) {
            return;
        }
        ByteBuffer question = ByteBuffer.wrap(("delete " + key + "\r\n").getBytes(StandardCharsets.UTF_8));
        ask(Jump.shard(key, shards.size()), Span.StoreMethod.DELETE, question, (wire, deadline) -> {
            String answer = wire.readLine(LONGEST_LINE, deadline);
            if (!answer.equals("DELETED") && !answer.equals("NOT_FOUND")) {
                throw new IOException("`" + answer + "` to a delete");
            }
        });
    }

    private interface Reader {
        void read(Wire wire, long deadline) throws IOException;
    }

    private void ask(int shard, Span.StoreMethod method, ByteBuffer question, Reader reader) {
        StoreSpan span = new StoreSpan(service, peer, method);
        Pool<Wire> pool = shards.get(shard);
        Exception why = null;
        try {
            long deadline = Math.min(Request.current().deadline, Clock.now() + LONGEST_NS);
            Wire wire = pool.take(deadline);
            span.begin(wire);
            try {
                wire.write(question, deadline);
                reader.read(wire, deadline);
            } catch (IOException error) {
                pool.lose(wire, true);
                throw error;
            }
            span.took(wire);
            pool.keep(wire);
        } catch (IOException | Failure error) {
            why = error;
            service.counts.cacheErrors.increment();
            service.log.error("a cache failed", "address", pool.address, "error", error.getMessage());
        }
        span.end(why);
    }
}
