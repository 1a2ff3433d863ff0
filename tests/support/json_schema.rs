//! Validates JSON against the part of JSON Schema (draft 2020-12) that the schemas of `docs/formats/schemas` use.

use serde_json::Value;

/// Keywords that say nothing about what is valid.
const SILENT: [&str; 4] = ["$schema", "title", "description", "unit"];

/// What of a document breaks the schema: each place with the reason. `place` is that of the document.
pub fn errors(schema: &Value, document: &Value, place: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (keyword, wanted) in schema.as_object().expect("a schema is an object") {
        match keyword.as_str() {
            "const" if document != wanted => found.push(format!("{place}: is not {wanted}")),
            "type" if !types(wanted).iter().any(|t| is_of(document, t)) => {
                found.push(format!("{place}: {document} is no {wanted}"));
            }
            "minimum" => {
                let least = wanted.as_f64().expect("a number");
                if document.as_f64().is_some_and(|number| number < least) {
                    found.push(format!("{place}: is below {wanted}"));
                }
            }
            "required" => {
                let names = wanted.as_array().expect("names").iter();
                let missing =
                    names.filter(|name| document.get(name.as_str().expect("a name")).is_none());
                found.extend(missing.map(|name| format!("{place}: lacks {name}")));
            }
            "properties" => {
                for (name, schema) in wanted.as_object().expect("properties") {
                    let value = document.get(name);
                    let inner =
                        value.map(|value| errors(schema, value, &format!("{place}.{name}")));
                    found.extend(inner.into_iter().flatten());
                }
            }
            "additionalProperties" => {
                assert_eq!(
                    wanted,
                    &Value::Bool(false),
                    "{place}: this is not validated"
                );
                let known = schema["properties"].as_object().expect("properties");
                let keys = document
                    .as_object()
                    .into_iter()
                    .flat_map(|object| object.keys());
                let others = keys.filter(|key| !known.contains_key(*key));
                found.extend(others.map(|key| format!("{place}: has {key}")));
            }
            "items" => {
                let elements = document.as_array().into_iter().flatten().enumerate();
                found.extend(
                    elements.flat_map(|(at, element)| {
                        errors(wanted, element, &format!("{place}[{at}]"))
                    }),
                );
            }
            "const" | "type" => {}
            other => assert!(
                SILENT.contains(&other),
                "{place}: `{other}` is not validated"
            ),
        }
    }
    found
}

fn types(wanted: &Value) -> Vec<&str> {
    match wanted {
        Value::String(one) => vec![one],
        several => {
            let several = several.as_array().expect("types").iter();
            several.map(|one| one.as_str().expect("a type")).collect()
        }
    }
}

fn is_of(document: &Value, kind: &str) -> bool {
    match kind {
        "null" => document.is_null(),
        "boolean" => document.is_boolean(),
        "string" => document.is_string(),
        "number" => document.is_number(),
        "integer" => document.is_i64() || document.is_u64(),
        "array" => document.is_array(),
        "object" => document.is_object(),
        other => panic!("{other} is no type"),
    }
}
