use std::collections::BTreeMap;

/// Names of the operations on a store, by the method number in spans.
pub const STORE_METHODS: [&str; 5] = ["get", "get_many", "insert", "update", "delete"];

/// The names of an application's services, including its stores, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    by_number: BTreeMap<u16, (String, Vec<String>)>,
}

impl Names {
    /// From number, name and methods of each service, the methods in the order of their places; a store has none.
    pub fn new(services: impl IntoIterator<Item = (u16, String, Vec<String>)>) -> Names {
        let by_number = services.into_iter().map(|(number, name, methods)| (number, (name, methods)));
        Names { by_number: by_number.collect() }
    }

    /// The name of a service; its number if the name is unknown.
    pub fn service(&self, number: u16) -> String {
        self.by_number.get(&number).map_or_else(|| format!("service {number}"), |(name, _)| name.clone())
    }

    /// The name of a service's method; its place if the name is unknown.
    pub fn method(&self, service: u16, place: u16) -> String {
        let named = self.by_number.get(&service).and_then(|(_, methods)| methods.get(usize::from(place)));
        named.cloned().unwrap_or_else(|| format!("method {place}"))
    }
}

/// The name of an operation on a store; its place if the name is unknown.
pub fn store_method(place: u16) -> String {
    let named = STORE_METHODS.get(usize::from(place));
    named.map_or_else(|| format!("method {place}"), |name| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_name_has_its_number() {
        let names = Names::new([(6, "plot".to_owned(), vec!["read".to_owned()])]);
        assert_eq!((names.service(6), names.service(7)), ("plot".into(), "service 7".into()));
        assert_eq!((names.method(6, 0), names.method(6, 1)), ("read".into(), "method 1".into()));
        assert_eq!(names.method(7, 2), "method 2");
        assert_eq!((store_method(1), store_method(5)), ("get_many".into(), "method 5".into()));
    }
}
