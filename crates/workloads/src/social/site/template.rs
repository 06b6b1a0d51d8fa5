use proto_http::append_encoded;

/// A text with values in it: `csrf={csrf}&body={body}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::social) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Box<[u8]>),
    Value(Value),
}

/// A value that a user puts into a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::social) enum Value {
    /// Their own name.
    Name,
    Password,
    /// The name of a new user.
    New,
    /// The display name of a new user.
    Display,
    /// The name of a friend.
    Friend,
    /// The name of one who is none.
    Stranger,
    /// The text that they write.
    Body,
    /// What that text begins with, which no other has.
    Stamp,
    /// The name of the user whom an article is about.
    Page,
    /// The name of the user whose data are to be in the cache.
    Each,
    /// A value taken from a page, by its place.
    Taken(u8),
}

impl Value {
    /// All that are not taken from pages, by the names that templates have.
    const NAMED: [(&'static str, Value); 9] = [
        ("name", Value::Name),
        ("password", Value::Password),
        ("new", Value::New),
        ("display", Value::Display),
        ("friend", Value::Friend),
        ("stranger", Value::Stranger),
        ("body", Value::Body),
        ("stamp", Value::Stamp),
        ("page", Value::Page),
    ];

    /// The value of this name, of those that are not taken from pages.
    pub(super) fn named(name: &str) -> Option<Value> {
        Value::NAMED.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// The names of all that are not.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        Value::NAMED.iter().map(|(name, _)| *name)
    }
}

impl Template {
    /// Reads a text, of which `value` knows the values.
    ///
    /// Errors: a brace without its other, or a value that is not known.
    pub(super) fn read(text: &str, value: impl Fn(&str) -> Option<Value>) -> Result<Template, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(open);
            let end = from.find('}').filter(|_| from.starts_with('{'));
            let end = end.ok_or_else(|| format!("'{text}' has a brace without its other"))?;
            let name = &from[1..end];
            let found = value(name)
                .ok_or_else(|| format!("'{text}' has the value {{{name}}}, which there is not"))?;
            if !before.is_empty() {
                pieces.push(Piece::Text(before.as_bytes().into()));
            }
            pieces.push(Piece::Value(found));
            rest = &from[end + 1..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.as_bytes().into()));
        }
        Ok(Template { pieces })
    }

    /// Appends the text with its values, each of which `append` appends, form-encoded, using `scratch`.
    pub(in crate::social) fn append_encoded(
        &self,
        append: impl Fn(Value, &mut Vec<u8>),
        scratch: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Value(value) => {
                    scratch.clear();
                    append(*value, scratch);
                    append_encoded(scratch, out);
                }
            }
        }
    }

    /// The same with its values as they are.
    pub(in crate::social) fn append(&self, append: impl Fn(Value, &mut Vec<u8>), out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Value(value) => append(*value, out),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_anna(value: Value, out: &mut Vec<u8>) {
        out.extend_from_slice(match value {
            Value::Name => b"anna",
            Value::Taken(3) => b"a/b&c d",
            _ => b"?",
        });
    }

    #[test]
    fn values_take_the_place_of_braces() {
        let known = |name: &str| if name == "csrf" { Some(Value::Taken(3)) } else { Value::named(name) };
        let check = |text: &str, encoded: &str, plain: &str| {
            let template = Template::read(text, known).unwrap();
            let (mut out, mut scratch) = (Vec::new(), Vec::new());
            template.append_encoded(of_anna, &mut scratch, &mut out);
            assert_eq!(String::from_utf8(std::mem::take(&mut out)).unwrap(), encoded);
            template.append(of_anna, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), plain);
        };
        check("csrf={csrf}&name={name}", "csrf=a%2Fb%26c+d&name=anna", "csrf=a/b&c d&name=anna");
        check("{name}", "anna", "anna");
        check("/", "/", "/");
        check("", "", "");
        for (text, says) in
            [("{nam}", "{nam}"), ("{name", "brace"), ("a}", "brace"), ("}{name}", "brace"), ("{}", "{}")]
        {
            let error = Template::read(text, known).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
