package movies.chassis;

/** An error in the configuration: file, key, given value, accepted values. */
public final class ConfigError extends Exception {
    public ConfigError(String what) {
        super(what);
    }
}
