import java.util.HashSet;
import java.util.Set;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Response;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.params.GetExParams;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.resps.ScanResult;

/** What Jedis asks of a cache; prints one line for each step. Usage: java JedisClient.java HOST PORT */
public class JedisClient {
    static void say(String what, Object... values) {
        StringBuilder line = new StringBuilder(what + ":");
        for (Object value : values) {
            line.append(' ').append(value);
        }
        System.out.println(line);
    }

    /** Whether as many seconds are left; one may end in between. */
    static boolean left(long seconds, long expected) {
        return seconds == expected || seconds == expected - 1;
    }

    public static void main(String[] args) {
        try (Jedis client = new Jedis(args[0], Integer.parseInt(args[1]))) {
            say("set", client.set("k", "v1"), client.get("k"));
            say("missing", client.get("none"));
            client.mset("a", "1", "b", "2");
            say("multi", client.mget("a", "b", "none"));
            say("add", client.set("k", "x", new SetParams().nx()));
            say("replace", client.set("k", "v3", new SetParams().xx().ex(100)));
            say("expiry", left(client.ttl("k"), 100), client.persist("k"), client.ttl("k"));
            say("getex", client.getEx("k", new GetExParams().ex(50)), left(client.ttl("k"), 50));
            client.set("n", "10");
            say("incr", client.incrBy("n", 5), client.decr("n"));
            say("append", client.append("k", ">"), client.get("k"));
            say("delete", client.del("k", "a", "none"), client.exists("k", "b"));
            say("getdel", client.getDel("n"), client.get("n"));
            client.set("large", "v".repeat(500_000));
            say("large", client.strlen("large"), client.get("large").length());
            Pipeline pipeline = client.pipelined();
            Response<String> last = null;
            for (int number = 0; number < 200; number++) {
                pipeline.set("p" + number, String.valueOf(number));
                last = pipeline.get("p" + number);
            }
            pipeline.sync();
            say("pipeline", last.get());
            Set<String> found = new HashSet<>();
            String cursor = "0";
            do {
                ScanResult<String> part = client.scan(cursor, new ScanParams().match("p*").count(20));
                found.addAll(part.getResult());
                cursor = part.getCursor();
            } while (!cursor.equals("0"));
            say("scan", found.size());
            say("name", client.clientSetname("test"), client.clientGetname(), client.echo("hi"), client.ping());
            say("info", client.info("server").contains("redis_mode:standalone"), client.dbSize() > 200);
            try {
                client.incr("large");
            } catch (JedisDataException error) {
                say("error", error.getMessage());
            }
            say("flush", client.flushDB(), client.exists("large"));
        }
    }
}
