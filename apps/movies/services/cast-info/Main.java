package movies.castinfo;

import movies.chassis.Run;
import movies.idl.CastInfo;

/** The service cast-info. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        Run.main("cast-info", arguments, CastInfo.Processor<CastInfo.Iface>::new, service ->
                new CastInfoHandler(service, service.store("movies"), service.cache("movies")));
    }
}
