package movies.castinfo;

import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import movies.chassis.Cache;
import movies.chassis.Checks;
import movies.chassis.Documents;
import movies.chassis.Failure;
import movies.chassis.Handler;
import movies.chassis.Store;
import movies.idl.CastInfo;
import movies.idl.Person;
import movies.idl.Refused;

/** Who plays in films. */
public final class CastInfoHandler extends Handler implements CastInfo.Iface {
    private final Documents persons;

    public CastInfoHandler(Store store, Cache cache) {
        persons = new Documents(store, cache, "persons", id -> "person:" + id);
    }

    /** In the requested order; missing ones are left out. */
    @Override
    public List<Person> read(List<Long> asked) throws Refused, Failure {
        Checks.listed("persons", asked.size());
        for (long person : asked) {
            Checks.number("person", person);
        }
        if (asked.isEmpty()) {
            return List.of();
        }
        Map<String, JsonObject> found = persons.getMany(asked.stream().map(String::valueOf).toList());
        List<Person> cast = new ArrayList<>(asked.size());
        for (long person : asked) {
            JsonObject document = found.get(Long.toString(person));
            if (document != null) {
                cast.add(new Person(person, Documents.text(document, "name")));
            }
        }
        return cast;
    }
}
