//! Firefox Profiler's processed format, version 55
//! (<https://github.com/firefox-devtools/profiler/blob/main/docs-developer/CHANGELOG-formats.md>).
//!
//! Own code: the crate `fxprof-processed-profile` 0.8 writes neither lines, files nor inlined
//! frames, and weights of 32 bits only. A test holds these tables against that crate's.
//!
//! The main column is the weight of the samples, which have no time of their own: they follow each
//! other, each as long as its weight, so that the track is as long as the run in a profile of
//! cycles. Markers and values over time have their real places. Phases are interval markers, and
//! every series of the timeline is a track of its own: markers whose schema draws their value as a
//! line, since the viewer shows counters of memory, power and bandwidth alone.

use std::io::{self, Write};

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::stack::{Active, Identity, Texts, UNKNOWN, active, cycle_ns, origin};
use crate::symbolized::{Sample, SymbolizedProfile, Thread, ThreadId};

mod tables;

use tables::Tables;

/// Writes the profile.
pub(super) fn write(profile: &SymbolizedProfile, output: &mut dyn Write) -> io::Result<()> {
    let mut threads: Vec<Option<ThreadId>> = Vec::new();
    for sample in profile.samples() {
        if !threads.contains(&sample.thread) {
            threads.push(sample.thread);
        }
    }
    if threads.is_empty() {
        threads.push(None);
    }
    let rounded = profile.rounded();
    let threads: Vec<Value> = threads
        .iter()
        .enumerate()
        .map(|(place, &id)| thread(profile, id, rounded.column(0), place == 0))
        .collect();
    let document = json!({
        "meta": meta(profile),
        "libs": [],
        "threads": threads,
        "pages": [],
        "profilerOverhead": [],
        "counters": [],
    });
    serde_json::to_writer(&mut *output, &document)?;
    writeln!(output)
}

fn meta(profile: &SymbolizedProfile) -> Value {
    let header = profile.header();
    let extra: Vec<Value> = origin(profile)
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(label, value)| json!({ "label": label, "format": "string", "value": value }))
        .collect();
    json!({
        "categories": [{ "name": "Other", "color": "grey", "subcategories": ["Other"] }],
        "debug": false,
        "extensions": { "baseURL": [], "id": [], "length": 0, "name": [] },
        "extra": [{ "label": "HPS Lab", "entries": extra }],
        "importedFrom": format!("hps {}", header.version),
        "interval": 1.0,
        "preprocessedProfileVersion": 55,
        "processType": 0,
        "product": if header.program.is_empty() { "hps" } else { &header.program },
        "sampleUnits": { "eventDelay": "ms", "threadCPUDelta": "ns", "time": "ms" },
        "startTime": 0.0,
        "symbolicated": true,
        "pausedRanges": [],
        "version": 24,
        "usesOnlyOneStackType": true,
        "sourceCodeIsNotOnSearchfox": true,
        "markerSchema": schemas(profile),
    })
}

/// The name of the markers that hold the points of a series.
fn series_kind(place: usize) -> String {
    format!("series-{place}")
}

fn schemas(profile: &SymbolizedProfile) -> Vec<Value> {
    let phase = json!({
        "name": "phase",
        "chartLabel": "{marker.name}",
        "tableLabel": "{marker.name}",
        "display": ["marker-chart", "marker-table", "timeline-overview"],
        "fields": [],
    });
    let series = profile.series().iter().enumerate().map(|(place, series)| {
        let label = if series.unit.is_empty() {
            series.name.clone()
        } else {
            format!("{} ({})", series.name, series.unit)
        };
        json!({
            "name": series_kind(place),
            "tooltipLabel": series.name,
            "display": ["marker-chart", "marker-table"],
            "fields": [{ "key": "value", "label": label, "format": "decimal" }],
            "graphs": [{ "key": "value", "type": "line", "color": "blue" }],
        })
    });
    [phase].into_iter().chain(series).collect()
}

fn thread(
    profile: &SymbolizedProfile,
    id: Option<ThreadId>,
    weights: &[u64],
    is_first: bool,
) -> Value {
    let mut tables = Tables::default();
    let weighted = profile.samples().iter().zip(weights);
    let own = weighted.filter(|&(sample, &weight)| sample.thread == id && weight > 0);
    let (mut stacks, mut deltas, mut column) = (Vec::new(), Vec::new(), Vec::new());
    let (mut passed, mut last) = (0_u128, 0.0);
    for (sample, &weight) in own {
        let time = milliseconds(profile, passed as f64);
        stacks.push(tables.stack(profile, sample));
        deltas.push(time - last);
        column.push(weight);
        passed += u128::from(weight);
        last = time;
    }
    let markers = if is_first {
        markers(profile, &mut tables.texts)
    } else {
        markers_of(&[])
    };
    let nameless = Thread::default();
    let thread = id.map_or(&nameless, |id| &profile.threads()[id.index()]);
    let name = match (thread.name.as_str(), profile.header().program.as_str()) {
        ("", "") => "program",
        ("", program) => program,
        (name, _) => name,
    };
    let mut value = json!({
        "markers": markers,
        "name": name,
        "isMainThread": is_first,
        "pausedRanges": [],
        "pid": "1",
        "processName": profile.header().program,
        "processShutdownTime": null,
        "processStartupTime": 0.0,
        "processType": "default",
        "registerTime": 0.0,
        "samples": {
            "length": stacks.len(),
            "weightType": "samples",
            "stack": stacks,
            "timeDeltas": deltas,
            "weight": column,
        },
        "tid": thread.id.to_string(),
        "unregisterTime": null,
        "showMarkersInTimeline": true,
    });
    tables.write(&mut value);
    value
}

/// Milliseconds of a value of the main column.
fn milliseconds(profile: &SymbolizedProfile, value: f64) -> f64 {
    match profile.main_column().unit.as_str() {
        "cycles" => value * cycle_ns(profile) / 1e6,
        _ => value / 1e6,
    }
}

/// A marker: name, start and end in milliseconds, and its data.
struct Row {
    name: usize,
    start: f64,
    end: Option<f64>,
    data: Value,
}

fn markers(profile: &SymbolizedProfile, texts: &mut Texts) -> Value {
    let time = |cycle: u64| cycle as f64 * cycle_ns(profile) / 1e6;
    let mut rows: Vec<Row> = Vec::new();
    for marker in profile.markers() {
        rows.push(Row {
            name: texts.place(&marker.name),
            start: time(marker.start),
            end: Some(time(marker.end)),
            data: json!({ "type": "phase" }),
        });
    }
    for (place, series) in profile.series().iter().enumerate() {
        let name = texts.place(&series.name);
        let kind = series_kind(place);
        for &(cycle, value) in &series.points {
            rows.push(Row {
                name,
                start: time(cycle),
                end: None,
                data: json!({ "type": kind, "value": value }),
            });
        }
    }
    markers_of(&rows)
}

fn markers_of(rows: &[Row]) -> Value {
    let column = |of: &dyn Fn(&Row) -> Value| rows.iter().map(of).collect::<Vec<Value>>();
    json!({
        "length": rows.len(),
        "category": vec![0; rows.len()],
        "data": column(&|row| row.data.clone()),
        "endTime": column(&|row| json!(row.end)),
        "name": column(&|row| json!(row.name)),
        // An instant is phase 0, an interval phase 1.
        "phase": column(&|row| json!(u8::from(row.end.is_some()))),
        "startTime": column(&|row| json!(row.start)),
    })
}
