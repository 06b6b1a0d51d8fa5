//! Prints the JSON schema of results, of studies with the argument `study`, or of comparisons with `comparison`:
//!
//! `cargo run -p results --example schema [study|comparison]`

fn main() {
    let schema = match std::env::args().nth(1).as_deref() {
        Some("study") => results::study_json_schema(),
        Some("comparison") => results::comparison_json_schema(),
        _ => results::json_schema(),
    };
    println!("{}", serde_json::to_string_pretty(&schema).expect("a schema is plain JSON"));
}
