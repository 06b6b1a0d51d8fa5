package movies.handlers;

import com.google.gson.JsonObject;
import movies.chassis.Cache;
import movies.chassis.Documents;
import movies.chassis.Failure;
import movies.chassis.Handler;
import movies.chassis.Store;
import movies.idl.Code;
import movies.idl.Plot;
import movies.idl.Refused;

/** Plots of films. */
public final class PlotHandler extends Handler implements Plot.Iface {
    private final Documents plots;

    public PlotHandler(Store store, Cache cache) {
        plots = new Documents(store, cache, "plots", id -> "plot:" + id);
    }

    @Override
    public String read(long movie) throws Refused, Failure {
        JsonObject document = plots.get(Long.toString(movie));
        if (document == null) {
            throw new Refused(Code.NOT_FOUND, "movie " + movie + " has no plot");
        }
        return Documents.text(document, "plot");
    }
}
