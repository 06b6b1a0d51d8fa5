package movies.chassis;

import java.util.List;
import java.util.Map;

/** The cache of a domain. That it fails is counted, and is a miss. */
public interface Cache {
    /** Expiry of items that never change. Source: the contract of the application. Units: s. */
    int LONG_S = 3600;

    /** The values found, by key. */
    Map<String, byte[]> getMany(List<String> keys);

    void set(String key, byte[] value, int expiryS);

    void delete(String key);
}
