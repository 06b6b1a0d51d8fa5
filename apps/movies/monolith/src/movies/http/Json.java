package movies.http;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonPrimitive;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import java.io.IOException;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import org.apache.thrift.TBase;
import org.apache.thrift.TFieldIdEnum;
import org.apache.thrift.meta_data.FieldMetaData;

/** JSON as the HTTP interface has it: structures by the names of their fields, bytes in base 64. */
final class Json {
    private static final Gson GSON = new GsonBuilder().disableHtmlEscaping().serializeNulls().create();

    /** Fields of a structure, in the order of their numbers. */
    private static final ClassValue<List<TFieldIdEnum>> FIELDS = new ClassValue<>() {
        @Override
        @SuppressWarnings({"unchecked", "rawtypes"})
        protected List<TFieldIdEnum> computeValue(Class<?> type) {
            List<TFieldIdEnum> fields = new ArrayList<>(FieldMetaData.getStructMetaDataMap((Class) type).keySet());
            fields.sort(Comparator.comparing(TFieldIdEnum::getThriftFieldId));
            return fields;
        }
    };

    private Json() {}

    static byte[] encode(JsonElement value) {
        return GSON.toJson(value).getBytes(StandardCharsets.UTF_8);
    }

    /** A value of generated code. */
    static JsonElement of(Object value) {
        if (value == null) {
            return JsonNull.INSTANCE;
        }
        if (value instanceof TBase<?, ?> struct) {
            return object(struct);
        }
        if (value instanceof List<?> list) {
            JsonArray array = new JsonArray(list.size());
            list.forEach(one -> array.add(of(one)));
            return array;
        }
        if (value instanceof byte[] bytes) {
            return new JsonPrimitive(Base64.getEncoder().encodeToString(bytes));
        }
        if (value instanceof ByteBuffer buffer) {
            byte[] bytes = new byte[buffer.remaining()];
            buffer.duplicate().get(bytes);
            return of(bytes);
        }
        if (value instanceof Number number) {
            return new JsonPrimitive(number);
        }
        return value instanceof Boolean yes ? new JsonPrimitive(yes) : new JsonPrimitive(value.toString());
    }

    // Generated code has its structures without their parameters.
    @SuppressWarnings({"unchecked", "rawtypes"})
    private static JsonObject object(TBase struct) {
        JsonObject object = new JsonObject();
        for (TFieldIdEnum field : FIELDS.get(struct.getClass())) {
            object.add(field.getFieldName(), struct.isSet(field) ? of(struct.getFieldValue(field)) : JsonNull.INSTANCE);
        }
        return object;
    }

    /** The object that a body holds. Errors: `Problem` for any other body. */
    static JsonObject parse(byte[] body) throws Problem {
        try {
            String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString();
            JsonReader reader = new JsonReader(new StringReader(text));
            reader.setStrictness(Strictness.STRICT);
            JsonElement value = GSON.getAdapter(JsonElement.class).read(reader);
            if (reader.peek() == JsonToken.END_DOCUMENT && value instanceof JsonObject object) {
                return object;
            }
            throw Problem.badRequest("the body is no object of JSON: another value");
        } catch (CharacterCodingException error) {
            throw Problem.badRequest("the body is no object of JSON: it is not UTF-8");
        } catch (IOException | JsonParseException | IllegalStateException error) {
            throw Problem.badRequest("the body is no object of JSON: it cannot be read");
        }
    }
}
