import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import net.spy.memcached.BinaryConnectionFactory;
import net.spy.memcached.CASResponse;
import net.spy.memcached.CASValue;
import net.spy.memcached.ConnectionFactory;
import net.spy.memcached.DefaultConnectionFactory;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.transcoders.SerializingTranscoder;

/** What spymemcached asks of a server; prints one line for each step. Usage: java SpyClient.java HOST PORT [binary] */
public class SpyClient {
    static void say(String what, Object value) {
        System.out.println(what + ": " + (value == null ? "none" : value));
    }

    static String stored(boolean yes) {
        return yes ? "stored" : "refused";
    }

    public static void main(String[] args) throws Exception {
        java.util.logging.LogManager.getLogManager().reset();
        System.setProperty("net.spy.log.LoggerImpl", "net.spy.memcached.compat.log.SunLogger");
        ConnectionFactory factory = args.length > 2 ? new BinaryConnectionFactory() : new DefaultConnectionFactory();
        MemcachedClient client =
                new MemcachedClient(factory, Arrays.asList(new InetSocketAddress(args[0], Integer.parseInt(args[1]))));
        ((SerializingTranscoder) client.getTranscoder()).setCompressionThreshold(Integer.MAX_VALUE);
        say("set", stored(client.set("k", 0, "v1").get(30, TimeUnit.SECONDS)));
        say("get", client.get("k"));
        say("missing", client.get("none"));
        client.set("a", 0, "1").get(30, TimeUnit.SECONDS);
        client.set("b", 0, "2").get(30, TimeUnit.SECONDS);
        StringBuilder found = new StringBuilder();
        for (Map.Entry<String, Object> one : new TreeMap<>(client.getBulk(Arrays.asList("a", "b", "none"))).entrySet()) {
            found.append(found.length() == 0 ? "" : " ").append(one.getKey()).append("=").append(one.getValue());
        }
        say("multi", found);
        say("add", stored(client.add("k", 0, "x").get(30, TimeUnit.SECONDS)));
        say("replace", stored(client.replace("k", 0, "v2").get(30, TimeUnit.SECONDS)));
        CASValue<Object> value = client.gets("k");
        say("cas", stored(client.cas("k", value.getCas(), "v3") == CASResponse.OK));
        say("stale cas", stored(client.cas("k", value.getCas(), "v4") == CASResponse.OK));
        client.set("n", 0, "10").get(30, TimeUnit.SECONDS);
        say("incr", client.incr("n", 5));
        say("decr", client.decr("n", 3));
        client.append("k", ">").get(30, TimeUnit.SECONDS);
        client.prepend("k", "<").get(30, TimeUnit.SECONDS);
        say("append", client.get("k"));
        say("delete", client.delete("k").get(30, TimeUnit.SECONDS) && client.get("k") == null ? "gone" : "there");
        client.set("t", 3600, "x").get(30, TimeUnit.SECONDS);
        say("touch", client.touch("t", 1).get(30, TimeUnit.SECONDS) ? "kept" : "lost");
        client.set("e", 1, "x").get(30, TimeUnit.SECONDS);
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (client.getBulk("e", "t").size() > 0 && System.nanoTime() < until) {
            Thread.sleep(50);
        }
        say("expiry", client.getBulk("e", "t").size() + " left");
        byte[] large = new byte[500000];
        client.set("large", 0, large).get(30, TimeUnit.SECONDS);
        say("large", ((byte[]) client.get("large")).length);
        byte[] binary = new byte[263];
        for (int i = 0; i < 256; i++) {
            binary[i] = (byte) i;
        }
        System.arraycopy("\r\nEND\r\n".getBytes(), 0, binary, 256, 7);
        client.set("binary", 0, binary).get(30, TimeUnit.SECONDS);
        say("binary", Arrays.equals((byte[]) client.get("binary"), binary) ? "same" : "other");
        if (client.getStats().size() != 1) {
            System.exit(1);
        }
        System.out.println("done");
        client.shutdown();
    }
}
