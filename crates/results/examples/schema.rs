//! Prints the JSON schema of results: `cargo run -p results --example schema > docs/reference/result-schema-v2.json`.

fn main() {
    println!("{}", serde_json::to_string_pretty(&results::json_schema()).expect("a schema is plain JSON"));
}
