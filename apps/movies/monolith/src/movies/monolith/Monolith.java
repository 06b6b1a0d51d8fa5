package movies.monolith;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import movies.chassis.Clock;
import movies.chassis.ConfigError;
import movies.chassis.Handler;
import movies.chassis.Run;
import movies.chassis.Service;
import movies.handlers.FilmIndex;
import movies.handlers.SearchHandler;
import movies.http.HttpServer;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.store.Directory;

/** All services in one process: the same classes, which ask each other directly. */
public final class Monolith implements Services.Callees {
    /** Eight parts of a page run in parallel, half of which wait for a cache or a database. */
    private static final int PARTS_A_WORKER = 4;

    private final Service service;
    private final Map<String, Handler> made = new HashMap<>();

    private Monolith(Service service) {
        this.service = service;
    }

    public static void main(String[] arguments) {
        Run.main("monolith", arguments, service ->
                new HttpServer(
                        service, Services.api(service, new Monolith(service)), parts(service.config.threads * PARTS_A_WORKER)));
    }

    /** If all threads are busy, the asking thread runs the part, so that no part waits for a thread. */
    private static Executor parts(int threads) {
        return new ThreadPoolExecutor(
                0, threads, 1, TimeUnit.MINUTES, new SynchronousQueue<>(), new ThreadPoolExecutor.CallerRunsPolicy());
    }

    @Override
    public <I> I of(String name, Class<I> iface) throws ConfigError, IOException {
        Handler handler = made.get(name);
        if (handler == null) {
            handler = switch (name) {
                // Parts are lost only together with the request that they are of.
                case "compose-review" -> Services.composeReview(this, Clock.now());
                case "search" -> new SearchHandler(indexInMemory());
                default -> Services.handler(name, service, this);
            };
            made.put(name, handler);
        }
        return iface.cast(handler);
    }

    /** Of the catalogue among the files of the data set. */
    private FilmIndex indexInMemory() throws ConfigError, IOException {
        Directory memory = new ByteBuffersDirectory();
        FilmIndex.make(service.config.neededData().resolve("catalogue.tsv"), memory);
        return new FilmIndex(memory);
    }
}
