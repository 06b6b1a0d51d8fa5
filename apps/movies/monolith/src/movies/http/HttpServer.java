package movies.http;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import movies.chassis.Clock;
import movies.chassis.Run;
import movies.chassis.Service;
import movies.chassis.Visit;
import org.apache.thrift.TException;
import org.eclipse.jetty.http.HttpCookie;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/**
 * Answers HTTP: Jetty reads requests and writes answers, `threads` workers work on them, and `queue` more may wait.
 *
 * <p>Not Jetty's own threads, whose queue has neither a limit that is answered nor moments that a span can have.
 */
public final class HttpServer implements Run.Listener {
    /** One reads and writes, one accepts, and some are Jetty's own to keep. */
    private static final int JETTY_THREADS = 8;
    private static final int BACKLOG = 511;
    /** Longer than the web server in front keeps a connection that is not used. Source of that: NGINX's default of 60 s. Units: ms. */
    private static final long IDLE_MS = 120_000;
    /** As in the web server in front: 4 lines of 8 KiB. Units: bytes. */
    private static final int LONGEST_HEAD = 32 * 1024;
    /** Source: the contract of the application. Units: s. */
    private static final long LONGEST_END_S = 2;

    private final Service service;
    private final Routes routes;
    /** Runs parts of a request in parallel; null if the services are behind connections. */
    private final Executor parts;
    private final ThreadPoolExecutor workers;
    private final Server server;
    private final ServerConnector connector;

    public HttpServer(Service service, Api api, Executor parts) {
        this.service = service;
        this.routes = new Routes(api);
        this.parts = parts;
        int threads = service.config.threads;
        workers = new ThreadPoolExecutor(threads, threads, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(service.config.queue));
        server = new Server(new QueuedThreadPool(JETTY_THREADS, JETTY_THREADS));
        HttpConfiguration http = new HttpConfiguration();
        http.setSendServerVersion(false);
        http.setRequestHeaderSize(LONGEST_HEAD);
        // Otherwise Jetty's cache returns an earlier value that differs only in case, such as another token.
        http.setHeaderCacheCaseSensitive(true);
        connector = new ServerConnector(server, 1, 1, new HttpConnectionFactory(http));
        connector.setHost(service.config.listen.getHostString());
        connector.setPort(service.config.listen.getPort());
        connector.setAcceptQueueSize(BACKLOG);
        connector.setIdleTimeout(IDLE_MS);
        server.addConnector(connector);
        server.setHandler(new Handler.Abstract.NonBlocking() {
            @Override
            public boolean handle(Request request, Response response, Callback callback) {
                begin(request, response, callback);
                return true;
            }
        });
    }

    @Override
    public void start() throws IOException {
        try {
            server.start();
        } catch (IOException error) {
            throw new IOException("`listen` " + service.config.listenText + ": " + error.getMessage(), error);
        } catch (Exception error) {
            throw new IOException("Jetty does not start: " + error, error);
        }
    }

    @Override
    public void end() {
        connector.close();
        workers.shutdown();
        try {
            if (!workers.awaitTermination(LONGEST_END_S, TimeUnit.SECONDS)) {
                service.log.error("requests were left at the end", "requests", workers.getActiveCount());
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    private void begin(Request request, Response response, Callback callback) {
        long cameAt = Clock.now();
        try {
            workers.execute(() -> work(request, response, callback, cameAt));
        } catch (RejectedExecutionException full) {
            Visit.refused(service);
            Answer answer = Answer.problem(Problem.overloaded(service.config.queue));
            send(response, answer, Json.encode(answer.value()), Clock.now() - cameAt, callback);
        }
    }

    /** Called by a worker. */
    private void work(Request request, Response response, Callback callback, long cameAt) {
        String name = "";
        byte[] body = {};
        Answer answer;
        Throwable why = null;
        Visit visit = null;
        try {
            Routes.Found found = routes.find(request.getMethod(), request.getHttpURI().getPath());
            name = found.route().name();
            visit = new Visit(service, name, request.getHeaders().get("traceparent"), cameAt);
            body = body(request);
            Asked asked = asked(request, body);
            answer = visit.during(parts, () -> found.route().answering().answer(asked, found.number()));
        } catch (TException | IOException | RuntimeException | StackOverflowError error) {
            Problem problem = Problem.of(error);
            why = problem.outcome();
            answer = Answer.problem(problem);
            log(problem, request);
        }
        if (visit == null) {
            visit = new Visit(service, name, null, cameAt);
        }
        byte[] text = Json.encode(answer.value());
        long took = visit.answered(why, body.length, text.length);
        Visit known = visit;
        send(response, answer, text, took, Callback.from(callback, known::sent));
    }

    private void log(Problem problem, Request request) {
        if (problem.cause != null) {
            String said = problem.status == 500 ? String.valueOf(problem.cause) : problem.getMessage();
            service.log.error(said, "path", request.getHttpURI().getPath());
        }
    }

    private static byte[] body(Request request) throws IOException {
        if (request.getMethod().equals("GET")) {
            return new byte[0];
        }
        // One byte more than there may be, by which too many are known.
        try (InputStream in = Content.Source.asInputStream(request)) {
            return in.readNBytes(Asked.LONGEST_BODY + 1);
        }
    }

    private static Asked asked(Request request, byte[] body) {
        Map<String, String> cookies = Request.getCookies(request).stream()
                .collect(Collectors.toMap(HttpCookie::getName, HttpCookie::getValue, (one, other) -> other));
        return new Asked(
                request.getMethod(), request.getHttpURI().getPath(), request.getHttpURI().getQuery(), request.getHeaders()::get, cookies, body);
    }

    private static void send(Response response, Answer answer, byte[] body, long tookNs, Callback callback) {
        response.setStatus(answer.status());
        answer.allHeaders().forEach(response.getHeaders()::put);
        response.getHeaders().put("Server-Timing", String.format(Locale.ROOT, "app;dur=%.3f", tookNs / 1e6));
        response.getHeaders().put("Content-Length", body.length);
        response.write(true, ByteBuffer.wrap(body), callback);
    }
}
