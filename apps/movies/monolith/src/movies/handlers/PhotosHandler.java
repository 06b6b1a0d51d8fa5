package movies.handlers;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import movies.chassis.Cache;
import movies.chassis.Checks;
import movies.chassis.Failure;
import movies.chassis.Handler;
import movies.chassis.Store;
import movies.idl.Photos;
import movies.idl.Refused;

/** Pictures of films. */
public final class PhotosHandler extends Handler implements Photos.Iface {
    private final Pictures pictures;

    public PhotosHandler(Store store, Cache cache) {
        pictures = new Pictures(store, cache);
    }

    /** The existing ones of the first `n`. */
    @Override
    public List<ByteBuffer> read(long movie, int n) throws Refused, Failure {
        Checks.range("n", n, 0, Checks.MOST_LISTED);
        if (n == 0) {
            return List.of();
        }
        List<Pictures.Name> names = new ArrayList<>(n);
        for (int at = 0; at < n; at++) {
            names.add(new Pictures.Name("photo:" + movie + ":" + at, "p:" + movie + ":" + at));
        }
        Map<String, byte[]> found = pictures.read(names);
        return names.stream().map(name -> found.get(name.id())).filter(picture -> picture != null).map(ByteBuffer::wrap).toList();
    }
}
