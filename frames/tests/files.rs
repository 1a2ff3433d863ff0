//! A frame as each file, read back by another reader than the writer.

use hps_frames::{
    Format, Frame, Kind, Table, Unit, Values, count, flag, integer, made, real, text,
};
use parquet::basic::{LogicalType, Repetition, Type};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Value, json};

/// A record with a value of each kind.
#[derive(Clone, Default)]
struct Record {
    name: Option<String>,
    count: Option<u64>,
    change: Option<i64>,
    share: Option<f64>,
    is_whole: Option<bool>,
}

fn table() -> Table<Record> {
    Table::new(
        "hps-tests",
        3,
        "a test",
        [
            text("name", Unit::Text, "name of the test", |r: &Record| {
                r.name.as_deref()
            }),
            count("cycles", Unit::Cycles, "cycles that it took", |r| r.count),
            integer("change", Unit::Misses, "misses more than before", |r| {
                r.change
            }),
            real("share", Unit::Share, "its share of all", |r| r.share),
            flag("is_whole", Unit::Word, "whether it is whole", |r| {
                r.is_whole
            }),
            made("label", Unit::Text, "name and cycles", |r| {
                Some(format!("{}: {}", r.name.as_ref()?, r.count?))
            }),
        ],
    )
}

fn records() -> Vec<Record> {
    let first = Record {
        name: Some("a \"b\", c\nd".to_string()),
        // Beyond what a signed integer and a double hold.
        count: Some(u64::MAX),
        change: Some(-7),
        share: Some(0.1),
        is_whole: Some(true),
    };
    let second = Record {
        name: Some(String::new()),
        count: Some(0),
        share: Some(f64::NAN),
        ..Record::default()
    };
    vec![first, second, Record::default()]
}

fn frame() -> Frame {
    table().frame(&records())
}

#[test]
fn a_frame_holds_whole_columns() {
    let frame = frame();
    assert_eq!(frame.rows(), 3);
    let cycles = Values::Count(vec![Some(u64::MAX), Some(0), None]);
    assert_eq!(frame.column("cycles"), Some(&cycles));
    assert_eq!(frame.column("none"), None);
    let kinds: Vec<Kind> = frame.schema().columns.iter().map(|c| c.kind).collect();
    use Kind::{Count, Flag, Integer, Real, Text};
    assert_eq!(kinds, [Text, Count, Integer, Real, Flag, Text]);
}

#[test]
fn csv_has_a_header_and_empty_fields() {
    let text = frame().to_csv().expect("CSV");
    let expected = "name,cycles,change,share,is_whole,label\n\
                    \"a \"\"b\"\", c\nd\",18446744073709551615,-7,0.1,true,\"a \"\"b\"\", c\nd: 18446744073709551615\"\n\
                    ,0,,NaN,,: 0\n\
                    ,,,,,\n";
    assert_eq!(text, expected);
    assert_eq!(
        frame().to_bytes(Format::Csv, "1").expect("CSV"),
        text.as_bytes()
    );
}

#[test]
fn json_names_its_format_and_has_null_for_what_is_missing() {
    let bytes = frame().to_bytes(Format::Json, "0.1").expect("JSON");
    let read: Value = serde_json::from_slice(&bytes).expect("JSON");
    let rows = json!([
        { "name": "a \"b\", c\nd", "cycles": u64::MAX, "change": -7, "share": 0.1, "is_whole": true,
          "label": "a \"b\", c\nd: 18446744073709551615" },
        { "name": "", "cycles": 0, "change": null, "share": null, "is_whole": null, "label": ": 0" },
        { "name": null, "cycles": null, "change": null, "share": null, "is_whole": null, "label": null },
    ]);
    let expected =
        json!({ "format": "hps-tests", "format_version": 3, "version": "0.1", "rows": rows });
    assert_eq!(read, expected);
    // The keys of a row stand in the order of the columns.
    let text = String::from_utf8(bytes).expect("text");
    let place = |key: &str| text.find(&format!("\"{key}\":")).expect("a key");
    assert!(place("name") < place("cycles") && place("cycles") < place("change"));
}

#[test]
fn parquet_holds_values_and_says_what_they_are() {
    let bytes = frame().to_bytes(Format::Parquet, "0.1").expect("Parquet");
    let again = frame().to_bytes(Format::Parquet, "0.1").expect("Parquet");
    assert_eq!(bytes, again, "one frame, one file");
    let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("a file");
    let about = file.metadata().file_metadata();
    assert_eq!(about.num_rows(), 3);
    assert_eq!(about.created_by(), Some("hps version 0.1"));
    let pairs = about.key_value_metadata().expect("metadata");
    let pair = |key: &str| {
        let found = pairs.iter().find(|pair| pair.key == key).expect(key);
        found.value.clone().expect("a value")
    };
    assert_eq!(pair("hps.schema"), "hps-tests");
    assert_eq!(pair("hps.schema_version"), "3");
    assert_eq!(pair("hps.version"), "0.1");
    let columns: Value = serde_json::from_str(&pair("hps.columns")).expect("JSON");
    let share = json!({ "unit": "share", "description": "its share of all" });
    assert_eq!(columns["share"], share);
    let fields = about.schema().get_fields();
    let types: Vec<(Type, Option<LogicalType>)> = fields
        .iter()
        .map(|f| {
            let basic = f.get_basic_info();
            assert_eq!(basic.repetition(), Repetition::OPTIONAL);
            (f.get_physical_type(), basic.logical_type_ref().cloned())
        })
        .collect();
    let string = (Type::BYTE_ARRAY, Some(LogicalType::String));
    assert_eq!(
        types,
        [
            string.clone(),
            (Type::INT64, Some(LogicalType::integer(64, false))),
            (Type::INT64, Some(LogicalType::integer(64, true))),
            (Type::DOUBLE, None),
            (Type::BOOLEAN, None),
            string,
        ]
    );
    let rows: Vec<Vec<Field>> = file
        .get_row_iter(None)
        .expect("rows")
        .map(|row| {
            let row = row.expect("a row");
            row.get_column_iter().map(|(_, f)| f.clone()).collect()
        })
        .collect();
    let of = |text: &str| Field::Str(text.to_string());
    assert_eq!(
        rows[0],
        [
            of("a \"b\", c\nd"),
            Field::ULong(u64::MAX),
            Field::Long(-7),
            Field::Double(0.1),
            Field::Bool(true),
            of("a \"b\", c\nd: 18446744073709551615"),
        ]
    );
    assert_eq!((&rows[1][0], &rows[1][1]), (&of(""), &Field::ULong(0)));
    assert!(matches!(rows[1][3], Field::Double(share) if share.is_nan()));
    assert_eq!(rows[2], vec![Field::Null; 6]);
}

#[test]
fn a_frame_without_rows_is_a_file_too() {
    let frame = table().frame(&[]);
    assert_eq!(frame.to_csv().expect("CSV").lines().count(), 1);
    let bytes = frame.to_bytes(Format::Parquet, "1").expect("Parquet");
    let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("a file");
    assert_eq!(file.metadata().file_metadata().num_rows(), 0);
    let bytes = frame.to_bytes(Format::Json, "1").expect("JSON");
    let read: Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!(read["rows"], json!([]));
}

#[test]
fn what_a_schema_lacks_is_said() {
    let column = |name, description| real(name, Unit::Share, description, |r: &f64| Some(*r));
    let defects = |columns: Vec<hps_frames::Column<f64>>| {
        let schema = Table::new("hps-tests", 1, "a test", columns).schema();
        schema.defects()
    };
    assert!(defects(vec![column("a", "a share"), column("b_2", "another")]).is_empty());
    for wrong in ["", " ", "a\nb c", "one|two"] {
        let found = defects(vec![column("a", wrong)]);
        assert_eq!(found, ["hps-tests: a: has no description of one line"]);
    }
    for wrong in ["A", "1a", "a-b", "", "é"] {
        assert_eq!(defects(vec![column(wrong, "a share")]).len(), 1, "{wrong}");
    }
    let twice = defects(vec![column("a", "a share"), column("a", "a share")]);
    assert_eq!(twice, ["hps-tests: a: is declared twice"]);
    let nameless = Table::new("tests", 0, "", [column("a", "a share")]).schema();
    assert_eq!(nameless.defects().len(), 1);
}

#[test]
fn a_json_schema_demands_each_column_and_no_other() {
    let schema = table().schema().json_schema();
    let row = &schema["properties"]["rows"]["items"];
    let names = ["name", "cycles", "change", "share", "is_whole", "label"];
    assert_eq!(row["required"], json!(names));
    assert_eq!(row["additionalProperties"], json!(false));
    let cycles = json!({
        "description": "cycles that it took", "type": ["integer", "null"], "unit": "cycles", "minimum": 0,
    });
    assert_eq!(row["properties"]["cycles"], cycles);
    assert_eq!(schema["properties"]["format"]["const"], "hps-tests");
    assert_eq!(schema["properties"]["format_version"]["const"], 3);
}

#[test]
fn a_table_of_a_page_has_a_line_for_each_column() {
    let markdown = table().schema().markdown();
    assert_eq!(markdown.lines().count(), 2 + 6);
    let line = "| `cycles` | unsigned integer | cycles | cycles that it took |";
    assert_eq!(markdown.lines().nth(3), Some(line));
}
