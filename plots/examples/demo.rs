#[path = "../tests/plots/support.rs"]
#[allow(dead_code)]
mod support;
use support::*;
fn main() {
    let names = [
        "bzip",
        "chess",
        "compiler",
        "interp",
        "lz",
        "netsimplex",
        "objstore",
        "parser",
        "place_route",
        "raytrace",
    ];
    let mut rows = grid(&names, Timed::PaperPoints);
    rows.iter_mut()
        .filter(|r| r.program == "lz" && r.one_in == 500)
        .for_each(|r| *r = failed(r.clone(), "guest fault: load from 0x10"));
    let info = hps_plots::ReportInfo {
        title: "HPS sweep".into(),
        command: "hps sweep --out results".into(),
        version: "0.1.0".into(),
        notes: vec!["a note".into()],
        machine_text: "(rob: 128)".into(),
    };
    let t = std::time::Instant::now();
    hps_plots::write_report("/tmp/plots-demo/a".as_ref(), &rows, &info).unwrap();
    println!("{:?}", t.elapsed());
    println!("{}", hps_plots::summary_table(&rows));
    let rows = grid(&names[..3], Timed::All);
    hps_plots::write_report("/tmp/plots-demo/b".as_ref(), &rows, &info).unwrap();
    let bars: Vec<_> = [
        "whole run",
        "inner_loop_with_a_rather_long_name::compress_block",
        "main",
    ]
    .iter()
    .enumerate()
    .map(|(i, n)| {
        (
            n.to_string(),
            [
                "base",
                "fetch: L1I miss",
                "fetch: redirect",
                "branch misprediction",
                "L1D miss",
                "L2 miss",
                "ROB full",
                "load replay",
                "DISE",
            ]
            .iter()
            .enumerate()
            .map(|(j, p)| (p.to_string(), 0.05 + ((i * 3 + j * 5) % 7) as f64 * 0.04))
            .collect(),
        )
    })
    .collect();
    std::fs::write(
        "/tmp/plots-demo/cpi.png",
        hps_plots::cpi_stack_figure("CPI stack of bzip on hps-4wide", &bars)
            .unwrap()
            .png()
            .unwrap(),
    )
    .unwrap();
}
